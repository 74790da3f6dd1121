package etcd

import (
	"os"
	"path/filepath"
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

	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	t.Run("file", func(t *testing.T) {
		wantStartError(t, file, file+" is a file, not a folder: use another data folder")
	})
	t.Run("below a file", func(t *testing.T) {
		wantStartError(t, filepath.Join(file, "data"), "not a directory: use another data folder")
	})
	t.Run("not ours", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("everything is root's")
		}
		dir := t.TempDir()
		must(t, os.Chmod(dir, 0o500))
		wantStartError(t, dir, "permission denied: make "+dir+" writable")
		below := filepath.Join(dir, "data")
		wantStartError(t, below, "permission denied: make "+below+" writable")
	})
}
