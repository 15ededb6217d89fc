// Badger as a plug-in of trueput: github.com/dgraph-io/badger/v4.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/ristretto/v2/z"
)

type database struct {
	db           *badger.DB
	folder       string
	prefetchSize int
	valueLimit   int64 // bytes of a value
}

func optionsOf(open *Open) badger.Options {
	compressions := map[string]options.CompressionType{
		"none": options.None, "snappy": options.Snappy, "zstd": options.ZSTD,
	}
	return badger.DefaultOptions(open.Directory).
		WithLoggingLevel(badger.ERROR).
		WithSyncWrites(open.Durability == Sync).
		WithDetectConflicts(open.Boolean("detect_conflicts")).
		WithBlockCacheSize(open.Integer("block_cache_size")).
		WithIndexCacheSize(open.Integer("index_cache_size")).
		WithMemTableSize(open.Integer("mem_table_size")).
		WithNumMemtables(int(open.Integer("num_memtables"))).
		WithNumLevelZeroTables(int(open.Integer("num_level_zero_tables"))).
		WithNumLevelZeroTablesStall(int(open.Integer("num_level_zero_tables_stall"))).
		WithBaseTableSize(open.Integer("base_table_size")).
		WithBaseLevelSize(open.Integer("base_level_size")).
		WithNumCompactors(int(open.Integer("num_compactors"))).
		WithValueThreshold(open.Integer("value_threshold")).
		WithValueLogFileSize(open.Integer("value_log_file_size")).
		WithBlockSize(int(open.Integer("block_size"))).
		WithCompression(compressions[open.Text("compression")])
}

func openDatabase(open *Open) (Database, error) {
	if open.Durability != Sync && open.Durability != Process {
		return nil, fmt.Errorf("%w: no such level of durability", ErrUnsupported)
	}
	how := optionsOf(open)
	if how.NumLevelZeroTablesStall <= how.NumLevelZeroTables {
		// Badger would end the process.
		return nil, fmt.Errorf("%w: num_level_zero_tables_stall must be above num_level_zero_tables",
			ErrUnsupported)
	}
	db, err := openAgain(how)
	if err != nil {
		return nil, err
	}
	// The entry of the new value log: Badger has flushed the folder before it made that file.
	if err := flush(open.Directory); err != nil {
		db.Close()
		return nil, err
	}
	return &database{
		db:           db,
		folder:       open.Directory,
		prefetchSize: int(open.Integer("prefetch_size")),
		valueLimit:   how.ValueLogFileSize,
	}, nil
}

// openAgain opens a database also after a crash that left a new log empty. Badger then extends the
// log and fails, and succeeds the next time.
func openAgain(how badger.Options) (*badger.DB, error) {
	const logs = 2 // a memtable's, and the value log
	db, err := badger.Open(how)
	for i := 0; i < logs && err != nil && strings.Contains(err.Error(), z.NewFile.Error()); i++ {
		db, err = badger.Open(how)
	}
	return db, err
}

// flush brings a file to storage, also what was written to it through a map; or a folder's entries.
func flush(path string) error {
	opened, err := os.Open(path)
	if err != nil {
		return err
	}
	defer opened.Close()
	return opened.Sync()
}

func (d *database) NewSession() (Session, error) {
	made := &session{database: d}
	made.keep = func(value []byte) error {
		made.value = append(made.value[:0], value...)
		return nil
	}
	return made, nil
}

// Checkpoint also flushes what Badger has no call for: DB.Sync flushes the newest log of each kind.
// With SyncWrites=false nothing has flushed the earlier ones.
func (d *database) Checkpoint() error {
	if err := d.db.Sync(); err != nil {
		return err
	}
	files, err := os.ReadDir(d.folder)
	if err != nil {
		return err
	}
	for _, file := range files {
		if kind := filepath.Ext(file.Name()); kind != ".mem" && kind != ".vlog" {
			continue
		}
		// A memtable's log that is gone has become a table, which Badger has flushed.
		err := flush(filepath.Join(d.folder, file.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return flush(d.folder)
}

func (d *database) Close() error { return d.db.Close() }

func (d *database) Settings() map[string]any {
	opts := d.db.Opts()
	return map[string]any{
		"SyncWrites":              opts.SyncWrites,
		"DetectConflicts":         opts.DetectConflicts,
		"BlockCacheSize":          opts.BlockCacheSize,
		"IndexCacheSize":          opts.IndexCacheSize,
		"MemTableSize":            opts.MemTableSize,
		"NumMemtables":            int64(opts.NumMemtables),
		"NumLevelZeroTables":      int64(opts.NumLevelZeroTables),
		"NumLevelZeroTablesStall": int64(opts.NumLevelZeroTablesStall),
		"BaseTableSize":           opts.BaseTableSize,
		"BaseLevelSize":           opts.BaseLevelSize,
		"NumCompactors":           int64(opts.NumCompactors),
		"ValueThreshold":          opts.ValueThreshold,
		"ValueLogFileSize":        opts.ValueLogFileSize,
		"BlockSize":               int64(opts.BlockSize),
		"Compression":             int64(opts.Compression),
		"NumVersionsToKeep":       int64(opts.NumVersionsToKeep),
	}
}

func (d *database) Counters() map[string]any {
	counters := map[string]any{}
	for _, level := range d.db.Levels() {
		counters[fmt.Sprintf("L%d.NumTables", level.Level)] = int64(level.NumTables)
		counters[fmt.Sprintf("L%d.Size", level.Level)] = level.Size
	}
	if metrics := d.db.BlockCacheMetrics(); metrics != nil {
		counters["BlockCache.Hits"] = int64(metrics.Hits())
		counters["BlockCache.Misses"] = int64(metrics.Misses())
	}
	return counters
}

type session struct {
	database *database
	txn      *badger.Txn
	value    []byte
	keep     func([]byte) error // copies a value, which Badger lends for a call only
	iterator *badger.Iterator
	of       Range
	isBegun  bool // the scan has returned a record
}

func (s *session) Begin(isWrite bool) error {
	s.txn = s.database.db.NewTransaction(isWrite)
	return nil
}

func (s *session) Commit() error {
	err := s.txn.Commit()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, badger.ErrConflict):
		return fmt.Errorf("%w: %w", ErrConflict, err)
	case strings.Contains(err.Error(), syscall.ENOSPC.Error()):
		// Badger keeps the text only.
		return fmt.Errorf("%w: %w", ErrFull, err)
	default:
		return err
	}
}

func (s *session) Abort() error {
	s.txn.Discard()
	return nil
}

func (s *session) Get(key []byte) ([]byte, error) {
	item, err := s.txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) || errors.Is(err, badger.ErrEmptyKey) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.valueOf(item)
}

// valueOf is never nil without an error: an empty value is one, too.
func (s *session) valueOf(item *badger.Item) ([]byte, error) {
	if s.value == nil {
		s.value = []byte{}
	}
	err := item.Value(s.keep)
	return s.value, err
}

// statusOfChange tells what Badger refuses by its own rules.
func statusOfChange(err error) error {
	if errors.Is(err, badger.ErrEmptyKey) || errors.Is(err, badger.ErrInvalidKey) ||
		errors.Is(err, badger.ErrTxnTooBig) {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}

// A transaction keeps the keys and values that it is given, so they are copied.

func (s *session) Put(key, value []byte) error {
	if limit := s.database.valueLimit; int64(len(value)) > limit {
		return fmt.Errorf("%w: a value is longer than value_log_file_size, %d bytes", ErrUnsupported,
			limit)
	}
	record := make([]byte, len(key)+len(value))
	copy(record[copy(record, key):], value)
	return statusOfChange(s.txn.Set(record[:len(key):len(key)], record[len(key):]))
}

func (s *session) Remove(key []byte) error {
	if len(key) == 0 {
		return nil // Badger has no empty key
	}
	return statusOfChange(s.txn.Delete(bytes.Clone(key)))
}

func (s *session) Scan(of Range) error {
	from := of.Lower
	if of.IsBackward {
		from = of.Upper
	}
	how := badger.DefaultIteratorOptions
	how.Reverse = of.IsBackward
	how.PrefetchSize = s.database.prefetchSize
	how.PrefetchValues = how.PrefetchSize > 0
	s.iterator, s.of, s.isBegun = s.txn.NewIterator(how), of, false
	if from.Kind == Unbounded {
		s.iterator.Rewind()
		return nil
	}
	if of.IsBackward && len(from.Key) == 0 {
		// Badger takes a seek of the empty key for a rewind. No key is at or below it.
		return nil
	}
	s.iterator.Seek(from.Key)
	if from.Kind == Excluded && s.iterator.Valid() &&
		bytes.Equal(s.iterator.Item().Key(), from.Key) {
		s.iterator.Next()
	}
	return nil
}

// isInRange is whether the key is before the scan's other end.
func (s *session) isInRange(key []byte) bool {
	end := s.of.Upper
	if s.of.IsBackward {
		end = s.of.Lower
	}
	if end.Kind == Unbounded {
		return true
	}
	order := bytes.Compare(key, end.Key)
	if s.of.IsBackward {
		order = -order
	}
	return order < 0 || order == 0 && end.Kind == Included
}

func (s *session) Next() (key, value []byte, err error) {
	if s.isBegun {
		s.iterator.Next()
	}
	s.isBegun = true
	if !s.iterator.Valid() {
		return nil, nil, nil
	}
	item := s.iterator.Item()
	if !s.isInRange(item.Key()) {
		return nil, nil, nil
	}
	value, err = s.valueOf(item)
	return item.Key(), value, err
}

func (s *session) EndScan() {
	s.iterator.Close()
	s.iterator = nil
}

func (s *session) Close() error { return nil }
