// Flips one bit of a value in a closed bbolt database, opens it again, and reads the value.
//
// Usage: main FILE. The file must not exist.
package main

import (
	"bytes"
	"fmt"
	"os"

	"go.etcd.io/bbolt"
)

var (
	bucket = []byte("records")
	key    = []byte("key")
	value  = bytes.Repeat([]byte("value "), 100)
)

func main() {
	path := os.Args[1]
	db, err := bbolt.Open(path, 0o644, nil)
	must(err)
	must(db.Update(func(tx *bbolt.Tx) error {
		records, err := tx.CreateBucket(bucket)
		if err != nil {
			return err
		}
		return records.Put(key, value)
	}))
	must(db.Close())
	read("before", path)
	flip(path)
	read("one bit flipped", path)
}

func read(when, path string) {
	db, err := bbolt.Open(path, 0o644, nil)
	must(err)
	must(db.View(func(tx *bbolt.Tx) error {
		what := "the value"
		if !bytes.Equal(tx.Bucket(bucket).Get(key), value) {
			what = "another value, without an error"
		}
		count := 0
		for range tx.Check() {
			count++
		}
		fmt.Printf("%s: %s; Tx.Check finds %d errors\n", when, what, count)
		return nil
	}))
	must(db.Close())
}

func flip(path string) {
	content, err := os.ReadFile(path)
	must(err)
	content[bytes.Index(content, value)+len(value)/2] ^= 1
	must(os.WriteFile(path, content, 0o644))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
