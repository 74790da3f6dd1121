package etcd

import (
	"bytes"
	"os"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

func TestDatabaseFaults(t *testing.T) {
	testFaults(t, map[string]fault{
		"database cut short": {
			func(t *testing.T, dir string) {
				edit(t, dbFile(dir), func(b []byte) []byte { return b[:len(b)/2] })
			},
			[]string{"snap/db is cut short", backup},
		},
		"database is no database": {
			func(t *testing.T, dir string) {
				edit(t, dbFile(dir), func(b []byte) []byte { return bytes.Repeat([]byte{7}, len(b)) })
			},
			[]string{"snap/db is damaged: invalid database", backup},
		},
		"database of a few bytes": {
			func(t *testing.T, dir string) {
				edit(t, dbFile(dir), func(b []byte) []byte { return b[:100] })
			},
			[]string{"snap/db is damaged: invalid database", backup},
		},
		"database with pages of zeros": {
			func(t *testing.T, dir string) {
				edit(t, dbFile(dir), func(b []byte) []byte { clear(b[2*os.Getpagesize():]); return b })
			},
			[]string{"snap/db is damaged", backup},
		},
		"database with wrong keys": {
			func(t *testing.T, dir string) { setInDB(t, dir, schema.Key.Name(), []byte("zz"), []byte("v")) },
			[]string{"snap/db is damaged", "revision", backup},
		},
		"laid out by a newer etcd": {
			func(t *testing.T, dir string) {
				setInDB(t, dir, schema.Meta.Name(), schema.MetaStorageVersionName, []byte("3.99.0"))
			},
			[]string{"was written by etcd 3.99.0", "newer program"},
		},
		"used in a newer cluster": {
			func(t *testing.T, dir string) {
				setInDB(t, dir, schema.Cluster.Name(), schema.ClusterClusterVersionKeyName, []byte("4.0.0"))
			},
			[]string{"was written by etcd 4.0.0", "newer program"},
		},
		"in use": {
			func(t *testing.T, dir string) {
				db, err := bolt.Open(dbFile(dir), 0o600, nil)
				must(t, err)
				t.Cleanup(func() { must(t, db.Close()) })
			},
			[]string{"snap/db is in use by another process"},
		},
	})
}
