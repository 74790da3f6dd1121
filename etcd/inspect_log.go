package etcd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"google.golang.org/protobuf/proto"
)

// inspectLog reads every record of the write-ahead log in dir. An incomplete record at
// the end is not damage: it was never acknowledged, and etcd cuts it off.
func (c *raftIndexes) inspectLog(dir string) (err error) {
	defer func() {
		if r := recover(); r != nil { // etcd panics on a record that it cannot decode
			err = fmt.Errorf("the write-ahead log in %s is damaged: %v", dir, r)
		}
	}()
	// The names begin with a number of fixed width, so they sort in the log's order.
	names, err := fileutil.ReadDir(dir, fileutil.WithExt(".wal"))
	if err != nil {
		return err
	}
	r := logReader{raftIndexes: c}
	for i, name := range names {
		path := filepath.Join(dir, name)
		err := r.readFile(path)
		last := i == len(names)-1
		if err != nil && (!last || !errors.Is(err, io.ErrUnexpectedEOF)) {
			return fmt.Errorf("%s is damaged: %w", path, err)
		}
	}
	for _, index := range r.snapshots {
		if index <= r.committed { // etcd ignores other snapshots as unfinished
			c.replayFrom = index
		}
	}
	// A member writes its own configuration as the first entry and commits it in the
	// same write. Without that it can never become leader, and has acknowledged nothing.
	c.neverBegan = r.committed == 0 && c.replayFrom == 0
	c.logged = c.replayFrom
	if r.entry != nil {
		c.logged = max(c.replayFrom, wal.MustUnmarshalEntry(r.entry).GetIndex())
	}
	return nil
}

// logReader accumulates what the files of the log contain.
type logReader struct {
	*raftIndexes
	crc       uint32
	entry     []byte // the last one
	committed uint64
	snapshots []uint64
}

func (r *logReader) readFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	d := wal.NewDecoder(fileutil.NewFileReader(f))
	rec := &walpb.Record{}
	begun := false
	for {
		err := d.Decode(rec)
		if err != nil && !begun {
			return errors.New("its first records are missing")
		}
		if errors.Is(err, io.EOF) {
			r.crc = d.LastCRC()
			return nil
		}
		if err != nil {
			return err
		}
		switch rec.GetType() {
		case wal.MetadataType: // each file begins with a checksum and this record
			begun = true
		case wal.CrcType: // each file begins with the checksum of the files before it
			if r.crc != 0 && r.crc != rec.GetCrc() {
				return errors.New("it does not continue the file before it")
			}
			d.UpdateCRC(rec.GetCrc())
		case wal.EntryType:
			r.entry = rec.Data
		case wal.StateType:
			r.committed = wal.MustUnmarshalState(rec.Data).GetCommit()
		case wal.SnapshotType:
			s := &walpb.Snapshot{}
			if err := proto.Unmarshal(rec.Data, s); err != nil {
				return err
			}
			r.snapshots = append(r.snapshots, s.GetIndex())
		}
	}
}
