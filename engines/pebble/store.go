// Pebble as a plug-in of trueput: github.com/cockroachdb/pebble/v2.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

// quietLogger leaves out what is no error. A fatal error ends the process, as it does by default.
type quietLogger struct{ pebble.Logger }

func (quietLogger) Infof(string, ...any) {}

type database struct {
	db     *pebble.DB
	folder string
	isSync bool
	// The one write transaction holds it: a batch does not detect conflicts.
	writer sync.Mutex
	// Held while Pebble's lock of commits is: a log that cannot be written leaves that one locked.
	log sync.Mutex
	// Why nothing can be committed any more.
	failure atomic.Pointer[error]
}

func optionsOf(open *Open) *pebble.Options {
	options := &pebble.Options{
		CacheSize:                   open.Integer("cache_size"),
		MemTableSize:                uint64(open.Integer("mem_table_size")),
		MemTableStopWritesThreshold: int(open.Integer("mem_table_stop_writes_threshold")),
		L0CompactionThreshold:       int(open.Integer("l0_compaction_threshold")),
		L0StopWritesThreshold:       int(open.Integer("l0_stop_writes_threshold")),
		LBaseMaxBytes:               open.Integer("lbase_max_bytes"),
		MaxManifestFileSize:         open.Integer("max_manifest_file_size"),
		WALBytesPerSync:             int(open.Integer("wal_bytes_per_sync")),
		EventListener:               &pebble.EventListener{BackgroundError: onBackgroundError},
		Logger:                      quietLogger{pebble.DefaultLogger},
	}
	options.TargetFileSizes[0] = open.Integer("target_file_size")
	if open.Text("format_major_version") == "newest" {
		options.FormatMajorVersion = pebble.FormatNewest
	}
	seconds, _ := open.Knobs["wal_min_sync_interval"].(float64)
	interval := time.Duration(seconds * float64(time.Second))
	options.WALMinSyncInterval = func() time.Duration { return interval }
	compactions := int(open.Integer("max_concurrent_compactions"))
	options.CompactionConcurrencyRange = func() (lower, upper int) { return 1, compactions }
	setLevels(options, open)
	return options
}

func setLevels(options *pebble.Options, open *Open) {
	settings := map[string]pebble.DBCompressionSettings{
		"none":     pebble.DBCompressionNone,
		"fastest":  pebble.DBCompressionFastest,
		"balanced": pebble.DBCompressionBalanced,
		"good":     pebble.DBCompressionGood,
	}
	if setting, isSet := settings[open.Text("compression")]; isSet {
		options.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return setting })
	}
	for i := range options.Levels {
		level := &options.Levels[i]
		level.BlockSize = int(open.Integer("block_size"))
		if bits := open.Integer("bloom_bits"); bits > 0 {
			level.FilterPolicy = bloom.FilterPolicy(bits)
		}
	}
}

// onBackgroundError ends the process when the disk is full. Pebble tries a flush again without end,
// and commits wait for it.
func onBackgroundError(err error) {
	fmt.Fprintln(os.Stderr, "pebble: background error:", err)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		os.Exit(1)
	}
}

func openDatabase(open *Open) (Database, error) {
	if open.Durability != Sync && open.Durability != Buffered {
		return nil, fmt.Errorf("%w: no such level of durability", ErrUnsupported)
	}
	db, err := pebble.Open(open.Directory, optionsOf(open))
	if err != nil {
		return nil, err
	}
	return &database{db: db, folder: open.Directory, isSync: open.Durability == Sync}, nil
}

func (d *database) NewSession() (Session, error) { return &session{database: d}, nil }

// fail notes why nothing can be committed any more.
func (d *database) fail(cause error) error {
	err := fmt.Errorf("the log cannot be written: %w", cause)
	d.failure.CompareAndSwap(nil, &err)
	return err
}

func (d *database) failed() error {
	if failure := d.failure.Load(); failure != nil {
		return *failure
	}
	return nil
}

// Checkpoint begins a new log, which flushes the old one, and writes the memtables out.
func (d *database) Checkpoint() error {
	flushed, err := d.beginFlush()
	if err != nil {
		return err
	}
	<-flushed
	return nil
}

// beginFlush is the first half of DB.Flush, which would hang after a failure.
func (d *database) beginFlush() (<-chan struct{}, error) {
	d.log.Lock()
	defer d.log.Unlock()
	if err := d.failed(); err != nil {
		return nil, err
	}
	return d.db.AsyncFlush()
}

// Close leaves the database open after a failure: DB.Close would hang.
func (d *database) Close() error {
	if err := d.failed(); err != nil {
		return err
	}
	return d.db.Close()
}

// Settings are those that Pebble has written to its file OPTIONS, and how commits are made.
func (d *database) Settings() map[string]any {
	settings := map[string]any{"WriteOptions.Sync": d.isSync}
	files, _ := filepath.Glob(filepath.Join(d.folder, "OPTIONS-*"))
	if len(files) == 0 {
		return settings
	}
	// The last by its number is that of this opening.
	text, _ := os.ReadFile(files[len(files)-1])
	section := ""
	for _, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		name, value, isSetting := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
		case isSetting && section == "Options":
			settings[name] = typed(value)
		case isSetting && section == `Level "0"`:
			settings["L0."+name] = typed(value)
		}
	}
	return settings
}

func typed(value string) any {
	if number, err := strconv.ParseInt(value, 10, 64); err == nil {
		return number
	}
	if truth, err := strconv.ParseBool(value); err == nil {
		return truth
	}
	return value
}

func (d *database) Counters() map[string]any {
	metrics := d.db.Metrics()
	total := metrics.Total()
	return map[string]any{
		"Flush.Count":               metrics.Flush.Count,
		"Compact.Count":             metrics.Compact.Count,
		"Compact.EstimatedDebt":     int64(metrics.Compact.EstimatedDebt),
		"BlockCache.Hits":           metrics.BlockCache.Hits,
		"BlockCache.Misses":         metrics.BlockCache.Misses,
		"WAL.BytesWritten":          int64(metrics.WAL.BytesWritten),
		"Total.TableBytesFlushed":   int64(total.TableBytesFlushed),
		"Total.TableBytesCompacted": int64(total.TableBytesCompacted),
		"Total.TablesCount":         total.TablesCount,
		"Total.TablesSize":          total.TablesSize,
		"Total.Sublevels":           int64(total.Sublevels),
	}
}

// apply makes a batch visible, and lets the next write transaction begin. At sync, the session then
// waits for the flush of the log, so that commits can share one.
func (d *database) apply(batch *pebble.Batch) (err error) {
	defer d.writer.Unlock()
	d.log.Lock()
	defer d.log.Unlock()
	if err := d.failed(); err != nil {
		return err
	}
	defer func() {
		// Pebble panics if it cannot write the log, and keeps its lock: the next commit would hang.
		if panicked := recover(); panicked != nil {
			err = d.fail(causeOf(panicked))
		}
	}()
	if d.isSync {
		return d.db.ApplyNoSyncWait(batch, pebble.Sync)
	}
	return d.db.Apply(batch, pebble.NoSync)
}

func causeOf(panicked any) error {
	cause, isError := panicked.(error)
	if !isError {
		cause = fmt.Errorf("%v", panicked)
	}
	return cause
}

type session struct {
	database *database
	batch    *pebble.Batch    // of the write transaction
	snapshot *pebble.Snapshot // of the read transaction
	value    io.Closer        // what the last get returned
	iterator *pebble.Iterator
	of       Range
	isBegun  bool // the scan has returned a record
}

func (s *session) Begin(isWrite bool) error {
	if !isWrite {
		s.snapshot = s.database.db.NewSnapshot()
		return nil
	}
	s.database.writer.Lock()
	if err := s.database.failed(); err != nil {
		s.database.writer.Unlock()
		return err
	}
	s.batch = s.database.db.NewIndexedBatch()
	return nil
}

func (s *session) Commit() error {
	if s.batch == nil {
		return s.Abort()
	}
	s.release()
	batch := s.batch
	s.batch = nil
	if err := s.database.apply(batch); err != nil {
		// It is not closed, which would have Pebble use it again while it is in the queue of commits.
		return err
	}
	if s.database.isSync {
		if err := batch.SyncWait(); err != nil {
			_ = batch.Close()
			return s.database.fail(err)
		}
	}
	return batch.Close()
}

func (s *session) Abort() error {
	s.release()
	if s.batch == nil {
		snapshot := s.snapshot
		s.snapshot = nil
		return snapshot.Close()
	}
	defer s.database.writer.Unlock()
	batch := s.batch
	s.batch = nil
	return batch.Close()
}

// release gives back what the last get returned.
func (s *session) release() {
	if s.value != nil {
		_ = s.value.Close()
		s.value = nil
	}
}

// reader is what the open transaction reads.
func (s *session) reader() pebble.Reader {
	if s.batch != nil {
		return s.batch
	}
	return s.snapshot
}

func (s *session) Get(key []byte) ([]byte, error) {
	s.release()
	value, closer, err := s.reader().Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	s.value = closer
	return present(value), err
}

// present is the bytes, which are there also if there are none of them.
func present(bytes []byte) []byte {
	if bytes == nil {
		return []byte{}
	}
	return bytes
}

func (s *session) Put(key, value []byte) error { return s.batch.Set(key, value, nil) }

func (s *session) Remove(key []byte) error { return s.batch.Delete(key, nil) }

// after is the key, or the next one after it.
func after(key []byte, isNext bool) []byte {
	if isNext {
		return append(key, 0)
	}
	return key
}

func (s *session) Scan(of Range) error {
	s.release()
	// Pebble includes the lower bound, and excludes the upper one.
	options := &pebble.IterOptions{}
	if of.Lower.Kind != Unbounded {
		options.LowerBound = after(of.Lower.Key, of.Lower.Kind == Excluded)
	}
	if of.Upper.Kind != Unbounded {
		options.UpperBound = after(of.Upper.Key, of.Upper.Kind == Included)
	}
	iterator, err := s.reader().NewIter(options)
	s.iterator, s.of, s.isBegun = iterator, of, false
	return err
}

func (s *session) advance() bool {
	switch {
	case !s.isBegun && s.of.IsBackward:
		return s.iterator.Last()
	case !s.isBegun:
		return s.iterator.First()
	case s.of.IsBackward:
		return s.iterator.Prev()
	default:
		return s.iterator.Next()
	}
}

func (s *session) Next() (key, value []byte, err error) {
	isThere := s.advance()
	s.isBegun = true
	if !isThere {
		return nil, nil, s.iterator.Error()
	}
	value, err = s.iterator.ValueAndErr()
	return present(s.iterator.Key()), value, err
}

func (s *session) EndScan() {
	_ = s.iterator.Close()
	s.iterator = nil
}

func (s *session) Close() error { return nil }
