package ctrlplane

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/snapshotservice"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// A start that fails removes the folder that it has created, unless the next one needs
// it to finish a restore into an etcd cluster.
func TestFailedStartKeepsAnInterruptedRestore(t *testing.T) {
	for _, interrupted := range []bool{true, false} {
		var warnings []string
		p := newControlPlane(&Server{
			Dir:       filepath.Join(t.TempDir(), "data"),
			Etcd:      EtcdConfig{Endpoints: []string{"http://127.0.0.1:1"}},
			OnWarning: func(msg string) { warnings = append(warnings, msg) },
		})
		if err := p.openDataDir(t.Context()); err != nil {
			t.Fatal(err)
		}
		pending := p.dir.Join(snapshotservice.PendingFile)
		if interrupted {
			testutil.WriteFile(t, pending, "snapshot")
		}
		if err := p.closeDataDir(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(pending); interrupted && err != nil {
			t.Errorf("the pending restore was removed: %v", err)
		}
		if _, err := os.Stat(p.config.Dir); !interrupted && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the folder was left behind: %v", err)
		}
		if said := len(warnings) == 1 && strings.Contains(warnings[0], p.config.Dir+" is kept"); said != interrupted {
			t.Errorf("interrupted: %v, warnings %q", interrupted, warnings)
		}
	}
}
