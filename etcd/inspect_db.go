package etcd

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

// lockTimeout is how long to wait for another process to release the database.
const lockTimeout = time.Second

// dbSummary is what a database records about itself.
type dbSummary struct {
	applied  uint64
	versions []string // of the etcd that created its layout, and of the cluster
}

// inspectDB walks the tree of every bucket. Etcd does the same when it opens the file,
// but in goroutines whose panic ends the process.
func inspectDB(ctx context.Context, path string) (summary dbSummary, err error) {
	size, err := writableSize(path)
	if err != nil || size == 0 {
		return summary, err // etcd fills an empty file from the log
	}
	// Bbolt panics on damage, and a page beyond the end of the file is a fault in the
	// memory map.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s is damaged: %v", path, r)
		}
	}()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockTimeout})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return summary, &adviceError{
			err:    fmt.Errorf("%s is in use by another process", path),
			advice: "end that process or use another data folder",
		}
	}
	if err != nil {
		return summary, fmt.Errorf("%s is damaged: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	err = db.View(func(tx *bolt.Tx) error {
		if tx.Size() > size {
			return fmt.Errorf("%s is truncated: it has %d of %d bytes", path, size, tx.Size())
		}
		err := inspectPages(ctx, path, tx)
		if err == nil {
			err = tx.ForEach(func(name []byte, b *bolt.Bucket) error { return inspectBucket(ctx, name, b) })
		}
		if err != nil {
			return fmt.Errorf("%s is damaged: %w", path, err)
		}
		summary.readVersions(tx)
		return nil
	})
	return summary, err
}

func writableSize(path string) (int64, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func inspectBucket(ctx context.Context, name []byte, b *bolt.Bucket) error {
	revisions := bytes.Equal(name, schema.Key.Name())
	var last []byte
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if v == nil { // of a bucket; etcd has none in others
			return fmt.Errorf("bucket %s: %q is not a key", name, k)
		}
		if bytes.Compare(last, k) >= 0 {
			return fmt.Errorf("bucket %s: keys are out of order", name)
		}
		if revisions {
			mvcc.BytesToBucketKey(k) // panics on what is not a revision
		}
		last = k
	}
	return nil
}

func (f *dbSummary) readVersions(tx *bolt.Tx) {
	get := func(bucket schemaBucket, key []byte) []byte {
		if b := tx.Bucket(bucket.Name()); b != nil {
			return b.Get(key)
		}
		return nil
	}
	if v := get(schema.Meta, schema.MetaConsistentIndexKeyName); len(v) == 8 {
		f.applied = binary.BigEndian.Uint64(v)
	}
	for _, v := range [][]byte{
		get(schema.Meta, schema.MetaStorageVersionName),
		get(schema.Cluster, schema.ClusterClusterVersionKeyName),
	} {
		f.versions = append(f.versions, string(v))
	}
}

type schemaBucket interface{ Name() []byte }

// newerVersion returns the version of an etcd that has written the database and is
// newer than the one in this program, if any. Patch releases of a minor version can
// read each other's files.
func (f dbSummary) newerVersion() string {
	ownMajor, ownMinor, _ := parseMinorVersion(version.Version)
	for _, v := range f.versions {
		major, minor, ok := parseMinorVersion(v)
		if ok && (major > ownMajor || major == ownMajor && minor > ownMinor) {
			return v
		}
	}
	return ""
}

func parseMinorVersion(v string) (major, minor int, ok bool) {
	n, err := fmt.Sscanf(v, "%d.%d", &major, &minor)
	return major, minor, err == nil && n == 2
}
