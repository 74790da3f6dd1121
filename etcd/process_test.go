package etcd

import (
	"os"
	"testing"

	"go.etcd.io/etcd/server/v3/storage/wal"
)

// The size of log files is a variable of the process. Members that have failed may keep
// it, so this test needs a process without any.
func TestSegmentSizeIsRestored(t *testing.T) {
	if os.Getenv(roleEnv) == "" {
		runChild(t, childCommand(t, "segments", t.TempDir()))
		return
	}
	original := wal.SegmentSizeBytes
	if original == segmentBytes {
		t.Fatalf("the size is %d before the first start", original)
	}
	want := func(want int64) {
		t.Helper()
		if wal.SegmentSizeBytes != want {
			t.Errorf("the size is %d, want %d", wal.SegmentSizeBytes, want)
		}
	}
	first := startServer(t, Config{Dir: t.TempDir(), NoSync: true})
	second := startServer(t, Config{Dir: t.TempDir(), NoSync: true})
	want(segmentBytes)
	closeServer(t, first)
	closeServer(t, first)
	want(segmentBytes)
	closeServer(t, second)
	want(original)

	for _, dir := range []string{os.Getenv(dirEnv) + "/\x00", ""} {
		if _, err := Start(testContext(t), Config{Dir: dir}); err == nil {
			t.Errorf("start in %q: got no error", dir)
		}
	}
	dir := newFilledDir(t, 1)
	must(t, os.Truncate(dbFile(dir), 100))
	if _, err := Start(testContext(t), Config{Dir: dir}); err == nil {
		t.Error("start with a damaged database: got no error")
	}
	want(original)
}
