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

// newFilledDir creates a data folder with n keys. Its server has been closed.
func newFilledDir(t *testing.T, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s := startServer(t, Config{Dir: dir, NoSync: true})
	c := dialEmbedded(t, s)
	for i := range n {
		putKey(t, c, fmt.Sprintf("k%d", i), strings.Repeat("v", 1000))
	}
	closeServer(t, s)
	return dir
}

func logFiles(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(logDir(dir), "*.wal"))
	must(t, err)
	return paths
}

// growLog writes until the log of dir has three files.
func growLog(t *testing.T, dir string) {
	t.Helper()
	s := startServer(t, Config{Dir: dir, NoSync: true})
	c := dialEmbedded(t, s)
	for len(logFiles(t, dir)) < 3 {
		putKey(t, c, "big", strings.Repeat("v", 1<<20))
	}
	closeServer(t, s)
}

// snapshotLog applies so many entries that the log is replayed from a snapshot.
func snapshotLog(t *testing.T, dir string) {
	t.Helper()
	s := startServer(t, Config{Dir: dir, NoSync: true})
	must(t, appendMissingEntries(testContext(t), s.member.etcd.Server, raftIndexes{applied: snapshotEntries + 1}))
	putKey(t, dialEmbedded(t, s), "after", "v")
	closeServer(t, s)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// editFile changes the bytes of a file.
func editFile(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, change(b), 0o600))
}

func putInDB(t *testing.T, dir string, bucket, key, value []byte) {
	t.Helper()
	db, err := bolt.Open(dbFile(dir), 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucket).Put(key, value) }))
	must(t, db.Close())
}

// faultCase is damage to a data folder and the parts of the error of Start.
type faultCase struct {
	damage func(t *testing.T, dir string)
	want   []string
}

const backupAdvice = "back from a backup, or use another data folder to start empty"

func runFaultCases(t *testing.T, faults map[string]faultCase) {
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			dir := newFilledDir(t, 50)
			f.damage(t, dir)
			wantStartError(t, dir, f.want...)
		})
	}
}

// wantStartError checks that Start fails on dir with the error, and does not change dir.
func wantStartError(t *testing.T, dir string, want ...string) {
	t.Helper()
	before := listFiles(t, dir)
	s, err := Start(testContext(t), Config{Dir: dir})
	if after := listFiles(t, dir); after != before {
		t.Errorf("the start changed the folder from\n%s to\n%s", before, after)
	}
	if err == nil {
		t.Fatalf("Start succeeded (and Close: %v), want an error", s.Close())
	}
	t.Log(err)
	for _, w := range append(want, "etcd: ") {
		if !strings.Contains(filepath.ToSlash(err.Error()), filepath.ToSlash(w)) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q is more than one line", err)
	}
}

// listFiles lists the files of a folder and their sizes. It omits spare files, which
// etcd allocates and never reads.
func listFiles(t *testing.T, dir string) string {
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
