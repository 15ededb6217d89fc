// Commits records to a Badger database, or reads them. ../power-cut/lost_name.sh and cut_power.sh
// run it.
//
// Usage: main write|read|more FOLDER
//
// write: creates a database, flushes its folder, commits with SyncWrites, waits until the first
// memtable has become a table, and ends without closing the database.
// read: opens it and prints which of these commits are missing, or have another value.
// more: opens it, commits more records, closes it, and prints the same.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/dgraph-io/badger/v4"
)

const (
	commits = 600
	more    = 100
)

func main() {
	mode, folder := "", ""
	if len(os.Args) == 3 {
		mode, folder = os.Args[1], os.Args[2]
	}
	switch mode {
	case "write":
		write(folder)
	case "read":
		db := open(folder)
		fmt.Println("opens;", describe(db))
		must(db.Close())
	case "more":
		db := open(folder)
		for number := commits + 1; number <= commits+more; number++ {
			must(commit(db, number))
		}
		must(db.Close())
		db = open(folder)
		fmt.Println("after", more, "more commits:", describe(db))
		must(db.Close())
	default:
		fmt.Fprintln(os.Stderr, "usage: main write|read|more FOLDER")
		os.Exit(2)
	}
}

func open(folder string) *badger.DB {
	// Small logs, so that new ones begin soon.
	db, err := badger.Open(badger.DefaultOptions(folder).WithSyncWrites(true).
		WithMemTableSize(256 << 10).WithValueThreshold(1 << 10).WithValueLogFileSize(1 << 20).
		WithLogger(nil))
	if err != nil {
		fmt.Println("does not open:", err)
		os.Exit(1)
	}
	return db
}

func write(folder string) {
	db := open(folder)
	opened, err := os.Open(folder)
	must(err)
	must(opened.Sync())
	for number := 1; number <= commits; number++ {
		must(commit(db, number))
	}
	for exists(filepath.Join(folder, "00001.mem")) {
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println(commits, "commits returned")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func key(number int) []byte { return fmt.Appendf(nil, "%08d", number) }

// Odd numbers have values that go to the value log.
func value(number int) []byte {
	repeats := 100
	if number%2 == 1 {
		repeats = 500
	}
	return bytes.Repeat(key(number), repeats)
}

// Whether these bytes are the value of some record.
func isValue(found []byte) bool {
	if len(found) < len(key(0)) {
		return false
	}
	number, err := strconv.Atoi(string(found[:len(key(0))]))
	return err == nil && bytes.Equal(found, value(number))
}

func commit(db *badger.DB, number int) error {
	return db.Update(func(txn *badger.Txn) error { return txn.Set(key(number), value(number)) })
}

func describe(db *badger.DB) string {
	var missing, empty, others, damaged []int
	must(db.View(func(txn *badger.Txn) error {
		for number := 1; number <= commits; number++ {
			item, err := txn.Get(key(number))
			if errors.Is(err, badger.ErrKeyNotFound) {
				missing = append(missing, number)
				continue
			}
			must(err)
			found, err := item.ValueCopy(nil)
			must(err)
			switch {
			case len(found) == 0:
				empty = append(empty, number)
			case !isValue(found):
				damaged = append(damaged, number)
			case !bytes.Equal(found, value(number)):
				others = append(others, number)
			}
		}
		return nil
	}))
	text := fmt.Sprintf("of %d commits are missing: %s", commits, list(missing))
	if len(empty) > 0 {
		text += "; with an empty value: " + list(empty)
	}
	if len(others) > 0 {
		text += "; with another record's value: " + list(others)
	}
	if len(damaged) > 0 {
		text += "; with a damaged value: " + list(damaged)
	}
	return text
}

func list(numbers []int) string {
	if len(numbers) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d from %d to %d", len(numbers), numbers[0], numbers[len(numbers)-1])
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
