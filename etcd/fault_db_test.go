package etcd

import (
	"bytes"
	"os"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

// editPage sets a byte in a page of keys of the bucket that holds all objects.
func editPage(t *testing.T, dir string, offset int64, value byte) {
	t.Helper()
	db, err := bolt.Open(dbFile(dir), 0o600, &bolt.Options{ReadOnly: true})
	must(t, err)
	var at int64
	must(t, db.View(func(tx *bolt.Tx) error {
		at = int64(tx.Bucket(schema.Key.Name()).Root())*int64(db.Info().PageSize) + offset
		return nil
	}))
	must(t, db.Close())
	editFile(t, dbFile(dir), func(b []byte) []byte { b[at] = value; return b })
}

func TestRefusesDamagedDatabase(t *testing.T) {
	runFaultCases(t, map[string]faultCase{
		"database cut short": {
			func(t *testing.T, dir string) {
				editFile(t, dbFile(dir), func(b []byte) []byte { return b[:len(b)/2] })
			},
			[]string{"snap/db is truncated", backupAdvice},
		},
		"not a database": {
			func(t *testing.T, dir string) {
				editFile(t, dbFile(dir), func(b []byte) []byte { return bytes.Repeat([]byte{7}, len(b)) })
			},
			[]string{"snap/db is damaged: invalid database", backupAdvice},
		},
		"database of a few bytes": {
			func(t *testing.T, dir string) {
				editFile(t, dbFile(dir), func(b []byte) []byte { return b[:100] })
			},
			[]string{"snap/db is damaged: invalid database", backupAdvice},
		},
		"database with pages of zeros": {
			func(t *testing.T, dir string) {
				editFile(t, dbFile(dir), func(b []byte) []byte { clear(b[2*os.Getpagesize():]); return b })
			},
			[]string{"snap/db is damaged", backupAdvice},
		},
		"page that claims its neighbours": {
			func(t *testing.T, dir string) { editPage(t, dir, 12, 5) },
			[]string{"snap/db is damaged", backupAdvice},
		},
		"key that claims to be a bucket": {
			func(t *testing.T, dir string) { editPage(t, dir, 16, 1) },
			[]string{"snap/db is damaged", backupAdvice},
		},
		"database with wrong keys": {
			func(t *testing.T, dir string) { putInDB(t, dir, schema.Key.Name(), []byte("zz"), []byte("v")) },
			[]string{"snap/db is damaged", "revision", backupAdvice},
		},
		"laid out by a newer etcd": {
			func(t *testing.T, dir string) {
				putInDB(t, dir, schema.Meta.Name(), schema.MetaStorageVersionName, []byte("3.99.0"))
			},
			[]string{"was written by etcd 3.99.0", "newer program"},
		},
		"used in a newer cluster": {
			func(t *testing.T, dir string) {
				putInDB(t, dir, schema.Cluster.Name(), schema.ClusterClusterVersionKeyName, []byte("4.0.0"))
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
