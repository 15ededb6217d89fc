// Commits records to a Badger database whose disk fails, or reads them. failed_flush.sh
// runs it.
//
// Usage: main write|close|read FOLDER [VALUES]
//
// write: commits records with SyncWrites until the first error, and ends without closing the
// database. close: the same, and closes the database.
// read: opens it, and prints what it reads.
// VALUES is the folder of the value log, FOLDER unless said otherwise.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/dgraph-io/badger/v4"
)

const (
	commits    = 40
	valueBytes = 20 << 10
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: main write|close|read FOLDER [VALUES]")
		os.Exit(2)
	}
	mode, folder, values := os.Args[1], os.Args[2], os.Args[len(os.Args)-1]
	db, err := open(folder, values)
	if err != nil {
		fmt.Println("does not open:", err)
		os.Exit(1)
	}
	if mode == "read" {
		read(db)
		return
	}
	write(db)
	if mode == "close" {
		closeWithin(db, 20*time.Second)
	}
	// No deferred function runs.
	os.Exit(0)
}

// open takes the value log for values of more than 1 KiB. The logs are small, for small disks.
func open(folder, values string) (*badger.DB, error) {
	return badger.Open(badger.DefaultOptions(folder).WithValueDir(values).WithSyncWrites(true).
		WithMemTableSize(256 << 10).WithValueThreshold(1 << 10).WithValueLogFileSize(1 << 20).
		WithLoggingLevel(badger.ERROR))
}

func key(number int) []byte { return fmt.Appendf(nil, "%08d", number) }

func value(number int) []byte { return bytes.Repeat(key(number), valueBytes/8) }

func write(db *badger.DB) {
	for number := 1; number <= commits; number++ {
		err := db.Update(func(txn *badger.Txn) error {
			return txn.Set(key(number), value(number))
		})
		if err != nil {
			fmt.Printf("commits 1 to %d returned nil, and commit %d: %v\n", number-1, number, err)
			return
		}
	}
	fmt.Printf("commits 1 to %d returned nil\n", commits)
}

func closeWithin(db *badger.DB, limit time.Duration) {
	closed := make(chan error)
	go func() { closed <- db.Close() }()
	select {
	case err := <-closed:
		fmt.Println("Close returned", err)
	case <-time.After(limit):
		fmt.Println("Close does not return within", limit)
	}
}

func read(db *badger.DB) {
	found := map[string][]int{}
	err := db.View(func(txn *badger.Txn) error {
		for number := 1; number <= commits; number++ {
			what := "with their values"
			item, err := txn.Get(key(number))
			if errors.Is(err, badger.ErrKeyNotFound) {
				what = "missing"
			} else if err != nil {
				return err
			} else if read, err := item.ValueCopy(nil); err != nil {
				what = "with an error: " + err.Error()
			} else if len(read) == 0 {
				what = "with an empty value, without an error"
			} else if !bytes.Equal(read, value(number)) {
				what = "with another value, without an error"
			}
			found[what] = append(found[what], number)
		}
		return nil
	})
	fmt.Println("opens;", err)
	for what, numbers := range found {
		fmt.Printf("    %s: %d from %d to %d\n", what, len(numbers), numbers[0],
			numbers[len(numbers)-1])
	}
}
