// Two transactions of Badger each search a range and find nothing. Each puts a record into the
// range that the other one searched. Do both commit?
//
// Usage: go run . FOLDER. The folder must not exist.
package main

import (
	"fmt"
	"os"

	"github.com/dgraph-io/badger/v4"
)

func main() {
	db, err := badger.Open(badger.DefaultOptions(os.Args[1]).WithLoggingLevel(badger.ERROR))
	must(err)
	defer db.Close()

	one, two := db.NewTransaction(true), db.NewTransaction(true)
	fmt.Println("1 finds in b/:", count(one, "b/"))
	fmt.Println("2 finds in a/:", count(two, "a/"))
	must(one.Set([]byte("a/1"), []byte("put because b/ was empty")))
	must(two.Set([]byte("b/1"), []byte("put because a/ was empty")))
	fmt.Println("commit of 1:", one.Commit())
	fmt.Println("commit of 2:", two.Commit())

	after := db.NewTransaction(false)
	defer after.Discard()
	fmt.Println("then: a/ has", count(after, "a/"), "and b/ has", count(after, "b/"))
}

// count returns the number of records with the prefix, found by an iterator.
func count(txn *badger.Txn, prefix string) (found int) {
	options := badger.DefaultIteratorOptions
	options.Prefix = []byte(prefix)
	iterator := txn.NewIterator(options)
	defer iterator.Close()
	for iterator.Seek(options.Prefix); iterator.ValidForPrefix(options.Prefix); iterator.Next() {
		_ = iterator.Item()
		found++
	}
	return found
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
