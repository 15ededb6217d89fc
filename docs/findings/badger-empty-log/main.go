// Commits records to a Badger database until it is killed, or reads them. crash.sh runs it.
//
// Usage: main write|read FOLDER
package main

import (
	"fmt"
	"os"

	"github.com/dgraph-io/badger/v4"
)

func main() {
	mode, folder := os.Args[1], os.Args[2]
	// Small logs, so that a new one begins soon.
	db, err := badger.Open(badger.DefaultOptions(folder).WithSyncWrites(true).
		WithMemTableSize(1 << 20).WithValueThreshold(1 << 10).WithValueLogFileSize(1 << 20).
		WithLogger(nil))
	if err != nil {
		fmt.Println("does not open:", err)
		os.Exit(1)
	}
	if mode == "read" {
		fmt.Println("opens,", count(db), "records")
		if err := db.Close(); err != nil {
			fmt.Println("close:", err)
		}
		return
	}
	value := make([]byte, 4000)
	for number := 0; ; number++ {
		err := db.Update(func(txn *badger.Txn) error {
			return txn.Set(fmt.Appendf(nil, "%08d", number), value)
		})
		if err != nil {
			fmt.Println("commit:", err)
			os.Exit(1)
		}
		fmt.Println("committed", number)
	}
}

func count(db *badger.DB) (records int) {
	_ = db.View(func(txn *badger.Txn) error {
		iterator := txn.NewIterator(badger.DefaultIteratorOptions)
		defer iterator.Close()
		for iterator.Rewind(); iterator.Valid(); iterator.Next() {
			records++
		}
		return nil
	})
	return records
}
