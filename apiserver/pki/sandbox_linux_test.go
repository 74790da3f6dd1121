package pki

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/durable"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestReportsMissingPermissions(t *testing.T) {
	if !testutil.InSandbox(t, 1000) {
		return
	}
	tests := map[string]struct {
		path string // below the folder
		mode os.FileMode
		when time.Duration // after startTime
		want string        // DIR stands for the folder; empty = no error
	}{
		"CA key not readable":           {"ca.key", 0, 0, "pki: open DIR/ca.key: permission denied: make it readable and writable by your user"},
		"CA certificate not readable":   {"ca.crt", 0, 0, "pki: open DIR/ca.crt: permission denied: make it readable and writable by your user"},
		"leaf key not readable":         {"admin.key", 0, 0, "pki: open DIR/admin.key: permission denied: make it readable and writable by your user"},
		"folder not readable":           {".", 0, 0, "pki: open DIR: permission denied: make it readable and writable by your user"},
		"not writable, nothing to do":   {".", 0o500, 0, ""},
		"not writable, work to be done": {".", 0o500, leafValidity, "pki: open DIR/.new-NUMBER: permission denied: make it readable and writable by your user"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg, _ := newPKI(t)
			cfg.now = fixedClock(startTime().Add(test.when))
			path := filepath.Join(cfg.Dir, test.path)
			testutil.Chmod(t, path, test.mode)
			_, err := Ensure(cfg)
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			got := testutil.ErrorLine(t, err)
			if _, rest, ok := strings.Cut(got, durable.TempPrefix); ok {
				number, _, _ := strings.Cut(rest, ":")
				got = strings.ReplaceAll(got, number, "NUMBER")
			}
			if diff := cmp.Diff(strings.ReplaceAll(test.want, "DIR", cfg.Dir), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The disk may be full at any file. A first start that fails leaves no files.
func TestDiskFullLeavesNothing(t *testing.T) {
	if !testutil.InSandbox(t, 0) {
		return
	}
	const needed = 15 // the folder and the files
	for room := range needed + 1 {
		t.Run(fmt.Sprintf("room for %d", room), func(t *testing.T) {
			disk := testutil.MountTmpfs(t, fmt.Sprintf("nr_inodes=%d", room+1))
			_, err := Ensure(Config{Dir: filepath.Join(disk, "pki")})
			if room == needed {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if got := testutil.ErrorLine(t, err); !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(got, "pki: ") ||
				!strings.HasSuffix(got, ": no space left on device: free space on the disk") {
				t.Errorf("got %s", got)
			}
			if left, err := os.ReadDir(disk); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
