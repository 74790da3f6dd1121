package etcd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

// fill makes a data folder with n keys, closed in good order.
func fill(t *testing.T, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s := start(t, Config{Dir: dir, NoSync: true})
	c := dialEmbedded(t, s)
	for i := range n {
		put(t, c, fmt.Sprintf("k%d", i), strings.Repeat("v", 1000))
	}
	closeServer(t, s)
	return dir
}

func dbFile(dir string) string { return filepath.Join(dir, "member", "snap", "db") }
func logDir(dir string) string { return filepath.Join(dir, "member", "wal") }

func logFiles(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(logDir(dir), "*.wal"))
	must(t, err)
	return paths
}

// grow makes the log of dir three files long.
func grow(t *testing.T, dir string) {
	t.Helper()
	s := start(t, Config{Dir: dir, NoSync: true})
	c := dialEmbedded(t, s)
	for len(logFiles(t, dir)) < 3 {
		put(t, c, "big", strings.Repeat("v", 1<<20))
	}
	closeServer(t, s)
}

// snapshot has so many entries applied that the log is replayed from a snapshot
// on from now on.
func snapshot(t *testing.T, dir string) {
	t.Helper()
	s := start(t, Config{Dir: dir, NoSync: true})
	must(t, catchUp(deadline(t), s.member.etcd.Server, contents{applied: snapshotEntries + 1}))
	put(t, dialEmbedded(t, s), "after", "v")
	closeServer(t, s)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// edit changes the bytes of a file.
func edit(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, change(b), 0o600))
}

func setInDB(t *testing.T, dir string, bucket, key, value []byte) {
	t.Helper()
	db, err := bolt.Open(dbFile(dir), 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucket).Put(key, value) }))
	must(t, db.Close())
}

func TestOpenFaults(t *testing.T) {
	const backup = "from a backup or remove it to start empty"
	tests := map[string]struct {
		damage func(t *testing.T, dir string)
		want   []string
	}{
		"log damaged in the middle": {
			func(t *testing.T, dir string) {
				edit(t, logFiles(t, dir)[0], func(b []byte) []byte {
					at := bytes.Index(b, []byte("k30"))
					copy(b[at:], "????")
					return b
				})
			},
			[]string{".wal is damaged", "crc mismatch", backup},
		},
		"log gone": {
			func(t *testing.T, dir string) { must(t, os.RemoveAll(logDir(dir))) },
			[]string{"wal has no write-ahead log", backup},
		},
		"log is no log": {
			func(t *testing.T, dir string) {
				edit(t, logFiles(t, dir)[0], func([]byte) []byte { return bytes.Repeat([]byte{7}, 4096) })
			},
			[]string{".wal", backup},
		},
		"log lacks a file": {
			func(t *testing.T, dir string) {
				grow(t, dir)
				must(t, os.Remove(logFiles(t, dir)[1]))
			},
			[]string{".wal is damaged", "does not follow the file before it", backup},
		},
		"log torn before its end": {
			func(t *testing.T, dir string) {
				grow(t, dir)
				path := logFiles(t, dir)[1]
				info, err := os.Stat(path)
				must(t, err)
				must(t, os.Truncate(path, info.Size()-1000))
			},
			[]string{".wal is damaged", "unexpected EOF", backup},
		},
		"database gone, log no longer whole": {
			func(t *testing.T, dir string) {
				snapshot(t, dir)
				must(t, os.Remove(dbFile(dir)))
			},
			[]string{"snap/db is missing or older than the write-ahead log", backup},
		},
		"more than one member": {
			func(t *testing.T, dir string) {
				s := start(t, Config{Dir: dir, NoSync: true})
				_, err := dialEmbedded(t, s).MemberAddAsLearner(deadline(t), []string{"http://127.0.0.1:1"})
				must(t, err)
				closeServer(t, s)
			},
			[]string{"belongs to a cluster of 2 members", "endpoints"},
		},
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
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := fill(t, 50)
			tt.damage(t, dir)
			wantStartError(t, dir, tt.want...)
		})
	}
}

// wantStartError starts a server on dir and compares the error.
func wantStartError(t *testing.T, dir string, want ...string) {
	t.Helper()
	before := listing(t, dir)
	s, err := Start(deadline(t), Config{Dir: dir})
	if after := listing(t, dir); after != before {
		t.Errorf("the start changed the folder from\n%s to\n%s", before, after)
	}
	if err == nil {
		t.Fatalf("Start succeeded (and Close: %v), want an error", s.Close())
	}
	t.Log(err)
	for _, w := range append(want, "etcd: ") {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q is more than one line", err)
	}
}

// listing is what is in a folder and how large; nothing if it does not exist.
// Spare files, which etcd prepares and never reads, do not count.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		switch {
		case err != nil || filepath.Ext(path) == ".tmp":
		case info.Mode().IsRegular():
			fmt.Fprintf(&b, "%s %d\n", path, info.Size())
		default:
			fmt.Fprintln(&b, path)
		}
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) {
		must(t, err)
	}
	return b.String()
}

// TestHeals starts on folders that look damaged but have lost nothing.
func TestHeals(t *testing.T) {
	const keys = 50
	tests := map[string]func(t *testing.T, dir string){
		"log torn at its end": func(t *testing.T, dir string) {
			edit(t, logFiles(t, dir)[0], func(b []byte) []byte {
				// What a stop of the machine leaves of a record: its length but not all of it.
				return append(bytes.TrimRight(b, "\x00"), 200, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3)
			})
		},
		"log shorter than the database": func(t *testing.T, dir string) {
			edit(t, logFiles(t, dir)[0], func(b []byte) []byte { return b[:bytes.Index(b, []byte("k10"))] })
		},
		"database gone": func(t *testing.T, dir string) { must(t, os.Remove(dbFile(dir))) },
		"database empty": func(t *testing.T, dir string) {
			must(t, os.Truncate(dbFile(dir), 0))
		},
	}
	for name, damage := range tests {
		t.Run(name, func(t *testing.T) {
			dir := fill(t, keys)
			damage(t, dir)
			for range 2 {
				s := start(t, Config{Dir: dir})
				c := dialEmbedded(t, s)
				for i := range keys {
					get(t, c, fmt.Sprintf("k%d", i))
				}
				rev := put(t, c, "new", "v")
				if _, mod := get(t, c, "new"); mod != rev {
					t.Errorf("a write acknowledged at revision %d reads back at %d", rev, mod)
				}
				closeServer(t, s)
			}
		})
	}
}
