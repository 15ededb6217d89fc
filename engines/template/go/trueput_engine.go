// trueput_engine.h in Go, interface version 1.0: implement Database and Session, and the function
// openDatabase. The header describes each function; trueput_engine.c is the other half.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
package main

/*
#cgo CFLAGS: -I${SRCDIR}
#include <stdlib.h>

#include "trueput_engine.h"

void tp_go_clear(tp_session *session);
size_t tp_go_add(tp_session *session, const void *bytes, size_t size);
const void *tp_go_at(const tp_session *session, size_t at);
void tp_go_report(const tp_values *values, const tp_value *value);
*/
import "C"

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"runtime/cgo"
	"strings"
	"syscall"
	"unsafe"
)

// A plug-in is a library: nothing calls main.
func main() {}

// Has the build see changes of the file, which trueput_engine.c includes.
//
//go:embed description.json
var _ string

// Errors that trueput tells apart: wrap them with %w. Any other fails the trial.
var (
	// ErrConflict: another transaction interfered. It is counted and retried.
	ErrConflict = errors.New("conflict")
	// ErrDeadlock is a conflict that the engine reports as a deadlock.
	ErrDeadlock = errors.New("deadlock")
	// ErrUnsupported: the engine cannot do that at all.
	ErrUnsupported = errors.New("unsupported")
	// ErrFull: the disk or another limit is full.
	ErrFull = errors.New("full")
)

// The levels of durability.
const (
	Sync = iota
	Async
	Buffered
	Process
	None
)

// Open says how a database is opened.
type Open struct {
	Directory  string // an existing folder for this database only
	Durability int
	Sessions   int            // the most at once
	Knobs      map[string]any // int64, float64, bool or string
}

// Integer is a knob that is a whole number, or a size; 0 if it is none.
func (o *Open) Integer(name string) int64 {
	value, _ := o.Knobs[name].(int64)
	return value
}

// Real is a knob that is a fraction, or a duration in seconds.
func (o *Open) Real(name string) float64 {
	value, _ := o.Knobs[name].(float64)
	return value
}

// Boolean is a knob that is on or off.
func (o *Open) Boolean(name string) bool {
	value, _ := o.Knobs[name].(bool)
	return value
}

// Text is a knob that is a choice, a text, or the word of its default.
func (o *Open) Text(name string) string {
	value, _ := o.Knobs[name].(string)
	return value
}

// Database is an open database. Its methods are called from any thread.
type Database interface {
	NewSession() (Session, error)
	Checkpoint() error
	// Settings are values as the engine reports them: int64, float64, bool or string.
	Settings() map[string]any
	Counters() map[string]any
	Close() error
}

// BoundKind is the kind of an end of a range.
type BoundKind int

// The kinds of ends.
const (
	Unbounded BoundKind = iota
	Included
	Excluded
)

// Bound is an end of a range.
type Bound struct {
	Kind BoundKind
	Key  []byte
}

// Range is what a scan covers.
type Range struct {
	Lower, Upper Bound
	IsBackward   bool
}

// Session is one worker's session. What it is given is valid during the call; what it returns is
// copied before the next call.
type Session interface {
	Begin(isWrite bool) error
	Commit() error
	Abort() error
	// Get returns nil for a key that does not exist.
	Get(key []byte) ([]byte, error)
	Put(key, value []byte) error
	Remove(key []byte) error
	Scan(of Range) error
	// Next is the next record of the scan; the key is nil at its end, after which it is not called.
	Next() (key, value []byte, err error)
	EndScan()
	Close() error
}

// openSession is a session, with whether a transaction is open.
type openSession struct {
	Session
	isOpen bool
}

// bytesOf is what lies at an address of C, without a copy.
func bytesOf(data unsafe.Pointer, size C.size_t) []byte {
	return unsafe.Slice((*byte)(data), int(size))
}

// fail fills an error and returns its status.
func fail(to *C.tp_error, status C.tp_status, code int64, text string) C.tp_status {
	size := min(len(text), len(to.text))
	for i := 0; i < size; i++ {
		to.text[i] = C.char(text[i])
	}
	to.code = C.int64_t(code)
	to.text_size = C.uint32_t(size)
	return status
}

// statusOf is the status of an error of the engine.
func statusOf(to *C.tp_error, err error) C.tp_status {
	if err == nil {
		return C.TP_OK
	}
	var number syscall.Errno
	code := int64(0)
	if errors.As(err, &number) {
		code = int64(number)
	}
	text := err.Error()
	for _, kind := range kinds {
		if errors.Is(err, kind.of) {
			// trueput says itself of which kind it is.
			return fail(to, kind.status, code, strings.TrimPrefix(text, kind.of.Error()+": "))
		}
	}
	return fail(to, C.TP_ENGINE, code, text)
}

// kinds are the errors that trueput tells apart, with their statuses.
var kinds = []struct {
	of     error
	status C.tp_status
}{
	{ErrDeadlock, C.TP_DEADLOCK},
	{ErrConflict, C.TP_CONFLICT},
	{ErrUnsupported, C.TP_UNSUPPORTED},
	{ErrFull, C.TP_FULL},
	{syscall.ENOSPC, C.TP_FULL},
	{syscall.EDQUOT, C.TP_FULL},
}

// caught makes a panic an error: none leaves a plug-in.
func caught(to *C.tp_error, status *C.tp_status) {
	if panicked := recover(); panicked != nil {
		*status = fail(to, C.TP_ENGINE, 0, fmt.Sprint("panic: ", panicked))
	}
}

func databaseOf(handle C.uintptr_t) Database { return cgo.Handle(handle).Value().(Database) }

func sessionOf(handle C.uintptr_t) *openSession { return cgo.Handle(handle).Value().(*openSession) }

func textOf(slice C.tp_slice) string { return string(bytesOf(slice.data, slice.size)) }

// openOf reads how a database is opened.
func openOf(open *C.tp_open) *Open {
	read := &Open{
		Directory:  textOf(open.directory),
		Durability: int(open.durability),
		Sessions:   int(open.sessions),
		Knobs:      map[string]any{},
	}
	for _, knob := range unsafe.Slice(open.knobs, int(open.knob_count)) {
		name := textOf(knob.name)
		switch knob.kind {
		case C.TP_INTEGER:
			read.Knobs[name] = int64(knob.integer)
		case C.TP_REAL:
			read.Knobs[name] = float64(knob.real)
		case C.TP_BOOLEAN:
			read.Knobs[name] = knob.integer != 0
		default:
			read.Knobs[name] = textOf(knob.text)
		}
	}
	return read
}

//export tpGoOpen
func tpGoOpen(open *C.tp_open, handle *C.uintptr_t, to *C.tp_error) (status C.tp_status) {
	defer caught(to, &status)
	database, err := openDatabase(openOf(open))
	if err == nil {
		*handle = C.uintptr_t(cgo.NewHandle(database))
	}
	return statusOf(to, err)
}

//export tpGoClose
func tpGoClose(handle C.uintptr_t, to *C.tp_error) (status C.tp_status) {
	defer caught(to, &status)
	err := databaseOf(handle).Close()
	cgo.Handle(handle).Delete()
	return statusOf(to, err)
}

//export tpGoSession
func tpGoSession(database C.uintptr_t, handle *C.uintptr_t, to *C.tp_error) (status C.tp_status) {
	defer caught(to, &status)
	made, err := databaseOf(database).NewSession()
	if err == nil {
		*handle = C.uintptr_t(cgo.NewHandle(&openSession{Session: made}))
	}
	return statusOf(to, err)
}

//export tpGoCheckpoint
func tpGoCheckpoint(handle C.uintptr_t, to *C.tp_error) (status C.tp_status) {
	defer caught(to, &status)
	return statusOf(to, databaseOf(handle).Checkpoint())
}

//export tpGoValues
func tpGoValues(handle C.uintptr_t, isCounters C.int, values *C.tp_values,
	to *C.tp_error) (status C.tp_status) {
	defer caught(to, &status)
	reported := databaseOf(handle).Settings()
	if isCounters != 0 {
		reported = databaseOf(handle).Counters()
	}
	for name, value := range reported {
		report(values, name, value)
	}
	return C.TP_OK
}

func report(values *C.tp_values, name string, value any) {
	// Memory of C, since the value is passed on.
	named := (*C.tp_value)(C.CBytes(make([]byte, C.sizeof_tp_value)))
	defer C.free(unsafe.Pointer(named))
	nameText := C.CString(name)
	defer C.free(unsafe.Pointer(nameText))
	named.size = C.uint32_t(C.sizeof_tp_value)
	named.name = C.tp_slice{data: unsafe.Pointer(nameText), size: C.size_t(len(name))}
	switch value := value.(type) {
	case int64:
		named.kind, named.integer = C.TP_INTEGER, C.int64_t(value)
	case float64:
		named.kind, named.real = C.TP_REAL, C.double(value)
	case bool:
		named.kind = C.TP_BOOLEAN
		if value {
			named.integer = 1
		}
	default:
		shown := fmt.Sprint(value)
		text := C.CString(shown)
		defer C.free(unsafe.Pointer(text))
		named.kind = C.TP_TEXT
		named.text = C.tp_slice{data: unsafe.Pointer(text), size: C.size_t(len(shown))}
	}
	C.tp_go_report(values, named)
}

//export tpGoBegin
func tpGoBegin(handle C.uintptr_t, mode C.uint32_t, to *C.tp_error) (status C.tp_status) {
	defer caught(to, &status)
	session := sessionOf(handle)
	err := session.Begin(mode == C.TP_WRITE)
	session.isOpen = err == nil
	return statusOf(to, err)
}

//export tpGoCommit
func tpGoCommit(handle C.uintptr_t, to *C.tp_error) (status C.tp_status) {
	defer caught(to, &status)
	session := sessionOf(handle)
	session.isOpen = false
	return statusOf(to, session.Commit())
}

//export tpGoAbort
func tpGoAbort(handle C.uintptr_t, to *C.tp_error) (status C.tp_status) {
	defer caught(to, &status)
	session := sessionOf(handle)
	session.isOpen = false
	return statusOf(to, session.Abort())
}

// added copies bytes to a session's memory.
func added(of *C.tp_session, value []byte) (C.size_t, error) {
	at := C.tp_go_add(of, unsafe.Pointer(unsafe.SliceData(value)), C.size_t(len(value)))
	if at == C.SIZE_MAX {
		return 0, fmt.Errorf("%w: no memory", ErrFull)
	}
	return at, nil
}

func sliceAt(of *C.tp_session, at C.size_t, size int) C.tp_slice {
	return C.tp_slice{data: C.tp_go_at(of, at), size: C.size_t(size)}
}

//export tpGoGet
func tpGoGet(of *C.tp_session, handle C.uintptr_t, key unsafe.Pointer, size C.size_t,
	value *C.tp_slice, to *C.tp_error) (status C.tp_status) {
	defer caught(to, &status)
	found, err := sessionOf(handle).Get(bytesOf(key, size))
	if err != nil {
		return statusOf(to, err)
	}
	if found == nil {
		return C.TP_NOT_FOUND
	}
	C.tp_go_clear(of)
	at, err := added(of, found)
	*value = sliceAt(of, at, len(found))
	return statusOf(to, err)
}

//export tpGoPut
func tpGoPut(handle C.uintptr_t, key unsafe.Pointer, keySize C.size_t, value unsafe.Pointer,
	valueSize C.size_t, to *C.tp_error) (status C.tp_status) {
	defer caught(to, &status)
	return statusOf(to, sessionOf(handle).Put(bytesOf(key, keySize), bytesOf(value, valueSize)))
}

//export tpGoRemove
func tpGoRemove(handle C.uintptr_t, key unsafe.Pointer, size C.size_t,
	to *C.tp_error) (status C.tp_status) {
	defer caught(to, &status)
	return statusOf(to, sessionOf(handle).Remove(bytesOf(key, size)))
}

// boundOf copies an end of a range, which is there longer than the call.
func boundOf(kind C.uint32_t, key C.tp_slice) Bound {
	return Bound{Kind: BoundKind(kind), Key: append([]byte{}, bytesOf(key.data, key.size)...)}
}

//export tpGoScanBegin
func tpGoScanBegin(handle C.uintptr_t, of *C.tp_range, to *C.tp_error) (status C.tp_status) {
	defer caught(to, &status)
	return statusOf(to, sessionOf(handle).Scan(Range{
		Lower:      boundOf(of.lower_kind, of.lower),
		Upper:      boundOf(of.upper_kind, of.upper),
		IsBackward: of.backward != 0,
	}))
}

//export tpGoScanNext
func tpGoScanNext(of *C.tp_session, handle C.uintptr_t, records *C.tp_record, capacity C.uint32_t,
	count *C.uint32_t, to *C.tp_error) (status C.tp_status) {
	defer caught(to, &status)
	C.tp_go_clear(of)
	session := sessionOf(handle)
	batch := unsafe.Slice(records, int(capacity))
	filled := 0
	for filled < len(batch) {
		key, value, err := session.Next()
		if err != nil {
			return statusOf(to, err)
		}
		if key == nil {
			break
		}
		// The memory may move until all is there: the places come first, the addresses last.
		if _, err := added(of, key); err != nil {
			return statusOf(to, err)
		}
		if _, err := added(of, value); err != nil {
			return statusOf(to, err)
		}
		batch[filled].key = C.tp_slice{size: C.size_t(len(key))}
		batch[filled].value = C.tp_slice{size: C.size_t(len(value))}
		filled++
	}
	at := unsafe.Pointer(C.tp_go_at(of, 0))
	for i := range batch[:filled] {
		one := &batch[i]
		one.key.data = at
		at = unsafe.Add(at, int(one.key.size))
		one.value.data = at
		at = unsafe.Add(at, int(one.value.size))
	}
	*count = C.uint32_t(filled)
	return C.TP_OK
}

//export tpGoScanEnd
func tpGoScanEnd(handle C.uintptr_t) {
	var ignored C.tp_error
	var status C.tp_status
	defer caught(&ignored, &status)
	sessionOf(handle).EndScan()
}

//export tpGoCloseSession
func tpGoCloseSession(handle C.uintptr_t) {
	defer func() {
		if panicked := recover(); panicked != nil {
			fmt.Fprintln(os.Stderr, "panic:", panicked)
		}
	}()
	session := sessionOf(handle)
	cgo.Handle(handle).Delete()
	if session.isOpen {
		_ = session.Abort()
	}
	_ = session.Close()
}
