package etcd

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	bolt "go.etcd.io/bbolt"
)

// The layout of a page of a database, from bbolt's internal package common.
const (
	pageHeaderBytes      = 16
	pageElementBytes     = 16
	branchPage, leafPage = 1, 2
)

// pageWalk follows the pages of a database from its root, as bbolt does in a goroutine
// of its own when it opens the file for writing: there, damage ends the process.
type pageWalk struct {
	ctx      context.Context
	file     io.ReaderAt
	pageSize int64
	seen     []bool // by page; its length is the number of pages
}

// page is a page and those that continue it.
type page struct {
	id    uint64
	leaf  bool
	count int
	data  []byte
}

func (w *pageWalk) read(id uint64) (p page, err error) {
	if id < 2 || id >= uint64(len(w.seen)) {
		return p, fmt.Errorf("page %d does not exist", id)
	}
	head := make([]byte, w.pageSize)
	if _, err := w.file.ReadAt(head, int64(id)*w.pageSize); err != nil {
		return p, err
	}
	kind, overflow := binary.LittleEndian.Uint16(head[8:]), uint64(binary.LittleEndian.Uint32(head[12:]))
	p = page{id: id, leaf: kind == leafPage, count: int(binary.LittleEndian.Uint16(head[10:])), data: head}
	switch {
	case binary.LittleEndian.Uint64(head) != id || kind != leafPage && kind != branchPage:
		return p, fmt.Errorf("page %d is not a page of keys", id)
	case overflow >= uint64(len(w.seen))-id:
		return p, fmt.Errorf("page %d goes beyond the end", id)
	}
	for i := range overflow + 1 {
		if w.seen[id+i] {
			return p, fmt.Errorf("page %d is used twice", id+i)
		}
		w.seen[id+i] = true
	}
	if overflow > 0 {
		p.data = make([]byte, int64(overflow+1)*w.pageSize)
		_, err = w.file.ReadAt(p.data, int64(id)*w.pageSize)
	}
	return p, err
}

// element returns the key of an element. For a branch it also returns the page that the
// element refers to.
func (p page) element(i int) (key []byte, child uint64, err error) {
	at := pageHeaderBytes + i*pageElementBytes
	if at+pageElementBytes > len(p.data) {
		return nil, 0, fmt.Errorf("page %d has elements beyond its end", p.id)
	}
	e := p.data[at:]
	pos, size := binary.LittleEndian.Uint32(e), binary.LittleEndian.Uint32(e[4:])
	if p.leaf { // flags, position, sizes of key and value
		pos, size = size, binary.LittleEndian.Uint32(e[8:])
	} else {
		child = binary.LittleEndian.Uint64(e[8:])
	}
	from := int64(at) + int64(pos)
	if from+int64(size) > int64(len(p.data)) {
		return nil, 0, fmt.Errorf("page %d has a key beyond its end", p.id)
	}
	return p.data[from:][:size], child, nil
}

// visit checks the tree below a page: all keys are at least least and before limit, if
// they are given. It returns the last key.
func (w *pageWalk) visit(id uint64, least, limit []byte) (last []byte, err error) {
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	p, err := w.read(id)
	if err != nil {
		return nil, err
	}
	last = least
	for i := range p.count {
		key, child, err := p.element(i)
		if err != nil {
			return nil, err
		}
		order := bytes.Compare(last, key)
		if order > 0 || order == 0 && i > 0 || limit != nil && bytes.Compare(key, limit) >= 0 {
			return nil, fmt.Errorf("page %d has keys out of order", id)
		}
		last = key
		if p.leaf {
			continue
		}
		next := limit
		if i+1 < p.count {
			if next, _, err = p.element(i + 1); err != nil {
				return nil, err
			}
		}
		if last, err = w.visit(child, key, next); err != nil {
			return nil, err
		}
	}
	return last, nil
}

// inspectPages checks the pages of all buckets.
func inspectPages(ctx context.Context, path string, tx *bolt.Tx) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	pageSize := int64(tx.DB().Info().PageSize)
	w := pageWalk{ctx: ctx, file: file, pageSize: pageSize, seen: make([]bool, tx.Size()/pageSize)}
	root := tx.Cursor().Bucket()
	if _, err := w.visit(uint64(root.Root()), nil, nil); err != nil {
		return err
	}
	return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
		if b == nil {
			return fmt.Errorf("bucket %q is not one", name)
		}
		if b.Root() == 0 { // it is in the page of the root
			return nil
		}
		_, err := w.visit(uint64(b.Root()), nil, nil)
		return err
	})
}
