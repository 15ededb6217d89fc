// bbolt as a plug-in of trueput: go.etcd.io/bbolt, one bucket.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
)

var bucket = []byte("records")

type database struct {
	db     *bolt.DB
	isSync bool
}

func openDatabase(open *Open) (Database, error) {
	if open.Durability != Sync && open.Durability != Process {
		return nil, fmt.Errorf("%w: no such level of durability", ErrUnsupported)
	}
	pageSize := open.Integer("page_size")
	if pageSize != 0 && !isPageSize(pageSize) {
		return nil, fmt.Errorf("%w: page_size must be 0, or a power of two from 1 KiB to 64 KiB",
			ErrUnsupported)
	}
	options := *bolt.DefaultOptions
	// Another process that has the file open is refused, and not waited for.
	options.Timeout = time.Second
	options.NoSync = open.Durability == Process
	options.NoGrowSync = options.NoSync
	options.NoFreelistSync = open.Boolean("no_freelist_sync")
	options.FreelistType = bolt.FreelistType(open.Text("freelist_type"))
	options.InitialMmapSize = int(open.Integer("initial_mmap_size"))
	options.PageSize = int(pageSize) // 0: bbolt takes the system's
	db, err := bolt.Open(filepath.Join(open.Directory, "bbolt.db"), 0o600, &options)
	if err != nil {
		if errors.Is(err, bolt.ErrTimeout) {
			return nil, fmt.Errorf("%w: the database is open already", ErrUnsupported)
		}
		return nil, err
	}
	opened := &database{db: db, isSync: !options.NoSync}
	if err := opened.prepare(open.Directory); err != nil {
		db.Close()
		return nil, err
	}
	return opened, nil
}

func isPageSize(size int64) bool {
	return size >= 1<<10 && size <= 1<<16 && size&(size-1) == 0
}

// prepare creates the bucket, and makes the file's entry in its folder durable.
func (d *database) prepare(folder string) error {
	err := d.db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		return err
	})
	if err != nil {
		return err
	}
	directory, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer directory.Close()
	return directory.Sync()
}

func (d *database) NewSession() (Session, error) { return &session{db: d.db}, nil }

func (d *database) Checkpoint() error { return d.db.Sync() }

func (d *database) Close() error { return d.db.Close() }

func (d *database) Settings() map[string]any {
	return map[string]any{
		"NoSync":         d.db.NoSync,
		"NoGrowSync":     d.db.NoGrowSync,
		"NoFreelistSync": d.db.NoFreelistSync,
		"FreelistType":   string(d.db.FreelistType),
		"PageSize":       int64(d.db.Info().PageSize),
	}
}

func (d *database) Counters() map[string]any {
	stats := d.db.Stats()
	tx := stats.TxStats
	return map[string]any{
		"FreePageN":     int64(stats.FreePageN),
		"PendingPageN":  int64(stats.PendingPageN),
		"FreelistInuse": int64(stats.FreelistInuse),
		"TxN":           int64(stats.TxN),
		"PageAlloc":     tx.GetPageAlloc(),
		"Rebalance":     tx.GetRebalance(),
		"Split":         tx.GetSplit(),
		"Spill":         tx.GetSpill(),
		"Write":         tx.GetWrite(),
	}
}

type session struct {
	db      *bolt.DB
	tx      *bolt.Tx
	records *bolt.Bucket
	isWrite bool
	cursor  *bolt.Cursor
	of      Range
	// The record at which the scan is.
	key, value []byte
	isBegun    bool // the scan has returned a record
}

func (s *session) Begin(isWrite bool) error {
	tx, err := s.db.Begin(isWrite)
	if err != nil {
		return err
	}
	s.tx, s.isWrite, s.records = tx, isWrite, tx.Bucket(bucket)
	return nil
}

func (s *session) Commit() error {
	if s.isWrite {
		return s.tx.Commit()
	}
	return s.tx.Rollback()
}

func (s *session) Abort() error { return s.tx.Rollback() }

func (s *session) Get(key []byte) ([]byte, error) { return s.records.Get(key), nil }

// statusOfChange tells what bbolt refuses by its own rules.
func statusOfChange(err error) error {
	if errors.Is(err, bolt.ErrKeyRequired) || errors.Is(err, bolt.ErrKeyTooLarge) ||
		errors.Is(err, bolt.ErrValueTooLarge) {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}

func (s *session) Put(key, value []byte) error {
	// bbolt copies the key, and keeps the value until the transaction ends.
	return statusOfChange(s.records.Put(key, append([]byte{}, value...)))
}

func (s *session) Remove(key []byte) error { return statusOfChange(s.records.Delete(key)) }

func (s *session) Scan(of Range) error {
	s.cursor, s.of, s.isBegun = s.records.Cursor(), of, false
	if of.IsBackward {
		s.seekBackward(of.Upper)
	} else {
		s.seekForward(of.Lower)
	}
	return nil
}

func (s *session) seekForward(from Bound) {
	if from.Kind == Unbounded {
		s.key, s.value = s.cursor.First()
		return
	}
	s.key, s.value = s.cursor.Seek(from.Key)
	if from.Kind == Excluded && s.key != nil && bytes.Equal(s.key, from.Key) {
		s.key, s.value = s.cursor.Next()
	}
}

func (s *session) seekBackward(from Bound) {
	if from.Kind == Unbounded {
		s.key, s.value = s.cursor.Last()
		return
	}
	s.key, s.value = s.cursor.Seek(from.Key)
	switch {
	case s.key == nil:
		s.key, s.value = s.cursor.Last()
	case from.Kind == Excluded || !bytes.Equal(s.key, from.Key):
		s.key, s.value = s.cursor.Prev()
	}
}

// isInRange is whether the scan's record is there, and before the scan's other end.
func (s *session) isInRange() bool {
	end := s.of.Upper
	if s.of.IsBackward {
		end = s.of.Lower
	}
	if s.key == nil || end.Kind == Unbounded {
		return s.key != nil
	}
	order := bytes.Compare(s.key, end.Key)
	if s.of.IsBackward {
		order = -order
	}
	return order < 0 || order == 0 && end.Kind == Included
}

func (s *session) Next() (key, value []byte, err error) {
	switch {
	case !s.isBegun:
		// Scan has read the first record.
	case s.of.IsBackward:
		s.key, s.value = s.cursor.Prev()
	default:
		s.key, s.value = s.cursor.Next()
	}
	s.isBegun = true
	if !s.isInRange() {
		return nil, nil, nil
	}
	return s.key, s.value, nil
}

func (s *session) EndScan() { s.cursor, s.key, s.value = nil, nil, nil }

func (s *session) Close() error { return nil }
