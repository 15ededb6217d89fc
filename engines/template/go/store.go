// @NAME@: a storage engine as a plug-in of trueput. Replace the store by yours;
// trueput_engine.go is between it and trueput.
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// node is a node of a treap. It never changes: a write copies the path to the root, so that
// readers keep the tree of their beginning.
type node struct {
	key, value  []byte
	priority    uint32 // of the heap: higher ones are nearer to the root
	left, right *node
}

// priorityOf is a hash of the key (FNV-1a), so that the tree's form depends on its keys alone.
func priorityOf(key []byte) uint32 {
	hash := uint32(2166136261)
	for _, one := range key {
		hash = (hash ^ uint32(one)) * 16777619
	}
	return hash * 2654435761
}

func (n *node) with(left, right *node) *node {
	return &node{n.key, n.value, n.priority, left, right}
}

func insert(root, added *node) *node {
	if root == nil {
		return added
	}
	switch order := bytes.Compare(added.key, root.key); {
	case order == 0:
		return added.with(root.left, root.right)
	case order < 0:
		left := insert(root.left, added)
		if left.priority > root.priority {
			return left.with(left.left, root.with(left.right, root.right))
		}
		return root.with(left, root.right)
	default:
		right := insert(root.right, added)
		if right.priority > root.priority {
			return right.with(root.with(root.left, right.left), right.right)
		}
		return root.with(root.left, right)
	}
}

// join joins two trees, of which the first has the lower keys.
func join(low, high *node) *node {
	switch {
	case low == nil:
		return high
	case high == nil:
		return low
	case low.priority > high.priority:
		return low.with(low.left, join(low.right, high))
	default:
		return high.with(join(low, high.left), high.right)
	}
}

// remove removes a key that is there.
func remove(root *node, key []byte) *node {
	switch order := bytes.Compare(key, root.key); {
	case order == 0:
		return join(root.left, root.right)
	case order < 0:
		return root.with(remove(root.left, key), root.right)
	default:
		return root.with(root.left, remove(root.right, key))
	}
}

func find(root *node, key []byte) *node {
	for root != nil {
		order := bytes.Compare(key, root.key)
		if order == 0 {
			return root
		}
		if order < 0 {
			root = root.left
		} else {
			root = root.right
		}
	}
	return nil
}

// beside is the nearest node above (or below) the key, or at it if orEqual.
func beside(root *node, key []byte, isAbove, orEqual bool) *node {
	var best *node
	for root != nil {
		order := bytes.Compare(key, root.key)
		isCandidate := isAbove && order < 0 || !isAbove && order > 0 || order == 0 && orEqual
		if isCandidate {
			best = root
		}
		if isCandidate == isAbove {
			root = root.left
		} else {
			root = root.right
		}
	}
	return best
}

func outermost(root *node, isLast bool) *node {
	for root != nil {
		next := root.left
		if isLast {
			next = root.right
		}
		if next == nil {
			break
		}
		root = next
	}
	return root
}

// The log has, for each commit, its size and its checksum, 4 bytes each, and its changes. A change
// is 'P' or 'D', the sizes of key and value, 4 bytes each, the key, the value.
const (
	headerSize = 8
	changeSize = 9
)

// database is an open database.
type database struct {
	log      *os.File
	isSync   bool
	isBroken bool  // a flush failed: what the log has is unknown
	end      int64 // of the log, bytes
	reserved int64 // the file's size, bytes
	step     int64
	writer   sync.Mutex // held by the one write transaction
	rootLock sync.Mutex
	root     *node // of the last commit
}

func openDatabase(open *Open) (Database, error) {
	if open.Durability != Sync && open.Durability != Process {
		return nil, fmt.Errorf("%w: no such level of durability", ErrUnsupported)
	}
	log, err := os.OpenFile(filepath.Join(open.Directory, "log"), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	isSync, step := open.Durability == Sync, open.Integer("log_step")
	opened := &database{log: log, isSync: isSync, step: step}
	if err := opened.prepare(open.Directory); err != nil {
		log.Close()
		return nil, err
	}
	return opened, nil
}

func (d *database) prepare(folder string) error {
	// The entry of the log in its folder is durable, too.
	directory, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer directory.Close()
	if err := directory.Sync(); err != nil {
		return err
	}
	if syscall.Flock(int(d.log.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return fmt.Errorf("%w: the database is open already", ErrUnsupported)
	}
	return d.recover()
}

// recover reads the commits up to the first that is not whole, and cuts off the rest.
func (d *database) recover() error {
	text, err := io.ReadAll(d.log)
	if err != nil {
		return err
	}
	rest := text
	for len(rest) >= headerSize {
		size := int64(binary.LittleEndian.Uint32(rest))
		if size == 0 || size > int64(len(rest)-headerSize) {
			break
		}
		changes := rest[headerSize : headerSize+size]
		isWhole := crc32.ChecksumIEEE(changes) == binary.LittleEndian.Uint32(rest[4:])
		changed, ok := replay(d.root, changes)
		if !isWhole || !ok {
			break
		}
		d.root = changed
		rest = rest[headerSize+size:]
	}
	d.end = int64(len(text) - len(rest))
	d.reserved = d.end
	return d.log.Truncate(d.end)
}

func replay(root *node, changes []byte) (*node, bool) {
	for len(changes) > 0 {
		if len(changes) < changeSize {
			return nil, false
		}
		keySize := uint64(binary.LittleEndian.Uint32(changes[1:]))
		valueSize := uint64(binary.LittleEndian.Uint32(changes[5:]))
		kind := changes[0]
		changes = changes[changeSize:]
		if uint64(len(changes)) < keySize+valueSize || kind != 'P' && kind != 'D' {
			return nil, false
		}
		key := changes[:keySize:keySize]
		value := changes[keySize : keySize+valueSize : keySize+valueSize]
		if kind == 'P' {
			root = insert(root, &node{key: key, value: value, priority: priorityOf(key)})
		} else if find(root, key) != nil {
			root = remove(root, key)
		}
		changes = changes[keySize+valueSize:]
	}
	return root, true
}

// append appends a commit, which begins with room for its header, and flushes it at sync.
func (d *database) append(commit []byte) error {
	if d.isBroken {
		return errors.New("a flush failed: open the database again")
	}
	changes := commit[headerSize:]
	if uint64(len(changes)) > 1<<32-1 {
		return fmt.Errorf("%w: a transaction of 4 GiB or more", ErrUnsupported)
	}
	binary.LittleEndian.PutUint32(commit, uint32(len(changes)))
	binary.LittleEndian.PutUint32(commit[4:], crc32.ChecksumIEEE(changes))
	end := d.end + int64(len(commit))
	if d.step > 0 && end > d.reserved {
		length := (end - d.reserved + d.step - 1) / d.step * d.step
		if err := syscall.Fallocate(int(d.log.Fd()), 0, d.reserved, length); err != nil {
			return err
		}
		d.reserved += length
	}
	if _, err := d.log.WriteAt(commit, d.end); err != nil {
		// Part of it may be there; it is written over or cut off.
		d.isBroken = d.log.Truncate(d.end) != nil
		d.reserved = d.end
		return err
	}
	if d.isSync {
		if err := syscall.Fdatasync(int(d.log.Fd())); err != nil {
			d.isBroken = true
			return err
		}
	}
	d.end = end
	return nil
}

func (d *database) Checkpoint() error { return syscall.Fdatasync(int(d.log.Fd())) }

func (d *database) Close() error { return d.log.Close() }

func (d *database) Settings() map[string]any {
	flush := "none"
	if d.isSync {
		flush = "each commit"
	}
	return map[string]any{"fdatasync": flush, "log_step": d.step}
}

func (d *database) Counters() map[string]any {
	d.writer.Lock()
	defer d.writer.Unlock()
	return map[string]any{"log_bytes": d.end}
}

func (d *database) NewSession() (Session, error) { return &session{database: d}, nil }

// session is one worker's access to a database.
type session struct {
	database   *database
	isWrite    bool
	hasChanges bool
	root       *node  // of the open transaction
	changes    []byte // of the open write transaction, after room for the header
	at         *node  // where a scan goes on
	end        Bound
	isBackward bool
}

func (s *session) Begin(isWrite bool) error {
	if isWrite {
		s.database.writer.Lock()
		s.changes = append(s.changes[:0], make([]byte, headerSize)...)
	}
	s.database.rootLock.Lock()
	s.root = s.database.root
	s.database.rootLock.Unlock()
	s.isWrite, s.hasChanges = isWrite, false
	return nil
}

func (s *session) Abort() error {
	s.root = nil
	if s.isWrite {
		s.database.writer.Unlock()
	}
	return nil
}

func (s *session) Commit() error {
	defer s.Abort()
	if !s.hasChanges {
		return nil
	}
	if err := s.database.append(s.changes); err != nil {
		return err
	}
	s.database.rootLock.Lock()
	s.database.root = s.root
	s.database.rootLock.Unlock()
	return nil
}

func (s *session) Get(key []byte) ([]byte, error) {
	found := find(s.root, key)
	if found == nil {
		return nil, nil
	}
	return found.value, nil
}

func (s *session) change(kind byte, key, value []byte) {
	s.changes = append(s.changes, kind)
	s.changes = binary.LittleEndian.AppendUint32(s.changes, uint32(len(key)))
	s.changes = binary.LittleEndian.AppendUint32(s.changes, uint32(len(value)))
	s.changes = append(append(s.changes, key...), value...)
	s.hasChanges = true
}

// copied is never nil: an empty value is one, too.
func copied(bytes []byte) []byte { return append([]byte{}, bytes...) }

func (s *session) Put(key, value []byte) error {
	s.change('P', key, value)
	added := &node{key: copied(key), value: copied(value), priority: priorityOf(key)}
	s.root = insert(s.root, added)
	return nil
}

func (s *session) Remove(key []byte) error {
	if find(s.root, key) != nil {
		s.change('D', key, nil)
		s.root = remove(s.root, key)
	}
	return nil
}

func (s *session) Scan(of Range) error {
	from := of.Lower
	s.end, s.isBackward = of.Upper, of.IsBackward
	if of.IsBackward {
		from, s.end = of.Upper, of.Lower
	}
	if from.Kind == Unbounded {
		s.at = outermost(s.root, of.IsBackward)
	} else {
		s.at = beside(s.root, from.Key, !of.IsBackward, from.Kind == Included)
	}
	s.stopAtEnd()
	return nil
}

// stopAtEnd ends the scan if it has passed its other end.
func (s *session) stopAtEnd() {
	if s.at == nil || s.end.Kind == Unbounded {
		return
	}
	order := bytes.Compare(s.end.Key, s.at.key)
	isInside := s.isBackward && order < 0 || !s.isBackward && order > 0 ||
		order == 0 && s.end.Kind == Included
	if !isInside {
		s.at = nil
	}
}

func (s *session) Next() (key, value []byte, err error) {
	if s.at == nil {
		return nil, nil, nil
	}
	one := s.at
	s.at = beside(s.root, one.key, !s.isBackward, false)
	s.stopAtEnd()
	return one.key, one.value, nil
}

func (s *session) EndScan() { s.at = nil }

func (s *session) Close() error { return nil }
