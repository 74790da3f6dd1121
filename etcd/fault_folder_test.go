package etcd

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestRefusesUnusableFolder(t *testing.T) {
	runFaultCases(t, map[string]faultCase{
		"more than one member": {
			func(t *testing.T, dir string) {
				s := startServer(t, Config{Dir: dir, NoSync: true})
				_, err := dialEmbedded(t, s).MemberAddAsLearner(testContext(t), []string{"http://127.0.0.1:1"})
				must(t, err)
				closeServer(t, s)
			},
			[]string{"belongs to a cluster of 2 members", "endpoints"},
		},
	})

	for name, damage := range map[string]func(dir string) error{
		"folder missing":   os.RemoveAll,
		"member missing":   func(dir string) error { return os.RemoveAll(filepath.Join(dir, "member")) },
		"contents missing": func(dir string) error { return errors.Join(os.RemoveAll(logDir(dir)), os.Remove(dbFile(dir))) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := newFilledDir(t, 1)
			must(t, damage(dir))
			before := listFiles(t, dir)
			s, err := Start(testContext(t), Config{Dir: dir, HoldsData: true})
			if err == nil {
				t.Fatalf("Start succeeded on an empty store (and Close: %v)", s.Close())
			}
			for _, w := range []string{dir + " holds no data, although a member has written there", backupAdvice} {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
			if after := listFiles(t, dir); after != before {
				t.Errorf("the start changed the folder from\n%s to\n%s", before, after)
			}
		})
	}

	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	t.Run("file", func(t *testing.T) {
		wantStartError(t, file, file+" is a file, not a folder: use another data folder")
	})
	t.Run("below a file", func(t *testing.T) {
		wantStartError(t, filepath.Join(file, "data"), syscall.ENOTDIR.Error()+": use another data folder")
	})
	t.Run("not ours", func(t *testing.T) {
		if os.Geteuid() == 0 || runtime.GOOS == "windows" {
			t.Skip("everything can be written here")
		}
		dir := t.TempDir()
		must(t, os.Chmod(dir, 0o500))
		wantStartError(t, dir, "permission denied: make "+dir+" writable")
		below := filepath.Join(dir, "data")
		wantStartError(t, below, "permission denied: make "+below+" writable")
	})
}
