package etcd

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A disk that is large enough for a start has room for writes after it, too.
func TestSmallestDiskAcceptsWrites(t *testing.T) {
	disk := os.Getenv(dirEnv)
	if os.Getenv(roleEnv) == "" {
		runSandboxed(t, "disk", t.TempDir())
		return
	}
	mountTmpfs(t, disk, fmt.Sprintf("size=%d", minFreeBytes+64<<10), 0)
	s := startServer(t, Config{Dir: filepath.Join(disk, "data"), RefusedWrite: refusedForTest})
	s.member.stopWatch()
	s.member.newSpaceWatch(s.cfg).look(t.Context()) // allocates the reserve
	c, err := s.Client()
	must(t, err)
	defer c.Close()
	for i := range 100 {
		putKey(t, c, fmt.Sprintf("k%d", i), "v")
	}
	if reason := s.member.guard.diskLow.Load(); reason != nil {
		t.Error(*reason)
	}
}
