package etcd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"
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

// shorten has so many entries applied that the log is replayed from a snapshot
// on from now on.
func shorten(t *testing.T, dir string) {
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

// fault is what may happen to a data folder, and what Start has to say about it.
type fault struct {
	damage func(t *testing.T, dir string)
	want   []string
}

const backup = "from a backup or remove it to start empty"

func testFaults(t *testing.T, faults map[string]fault) {
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			dir := fill(t, 50)
			f.damage(t, dir)
			wantStartError(t, dir, f.want...)
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
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		must(t, err)
	}
	return b.String()
}
