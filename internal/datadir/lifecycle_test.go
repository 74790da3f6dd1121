//go:build unix

package datadir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/procstat"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func inspect(t *testing.T, path string) Info {
	t.Helper()
	info, err := Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestInspect(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	if _, err := Inspect(path); !errors.As(err, new(*NotFoundError)) {
		t.Errorf("no folder: got %v", err)
	}
	d, err := Open(t.Context(), path, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.SaveState(State{Name: "demo", Private: true, LogFile: "/log"}); err != nil {
		t.Fatal(err)
	}
	info := inspect(t, path)
	if !info.Running || info.Crashed || info.Ephemeral || info.PID != os.Getpid() || info.Name != "demo" || !info.Private || info.LogFile != "/log" {
		t.Errorf("open: %+v", info)
	}
	before := info.Bytes
	testutil.WriteFile(t, d.Join("big"), make([]byte, 5000))
	if got := inspect(t, path).Bytes; got != before+5000 {
		t.Errorf("size: got %d, want %d", got, before+5000)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if info := inspect(t, path); info.Running || info.Crashed || info.PID != 0 {
		t.Errorf("closed: %+v", info)
	}
	_, _, kill := startHolder(t, "open", path)
	kill()
	if info := inspect(t, path); info.Running || !info.Crashed || info.Name != "demo" {
		t.Errorf("killed: %+v", info)
	}
}

// TestInspectNewerFormat checks that a folder of a newer version is not described as one that can be started.
func TestInspectNewerFormat(t *testing.T) {
	path := t.TempDir()
	testutil.WriteFiles(t, path, map[string]string{markerFile: `{"format":2}`, stateFile: `{"name":"demo"}`})
	info, err := Inspect(path)
	if want := "was written by a newer ctrlplane (format 2, this one reads up to 1)"; !errors.As(err, new(*NewerFormatError)) || !strings.Contains(err.Error(), want) || info.Name != "demo" {
		t.Errorf("got %+v, %v, want %q", info, err, want)
	}
}

func TestInspectEphemeral(t *testing.T) {
	setStateHome(t)
	t.Setenv("TMPDIR", t.TempDir())
	path, pid, kill := startHolder(t, "temp", "")
	if info := inspect(t, path); !info.Running || !info.Ephemeral || info.PID != pid {
		t.Errorf("open: %+v", info)
	}
	kill()
	if info := inspect(t, path); info.Running || !info.Crashed {
		t.Errorf("killed: %+v", info)
	}
	if dirs, err := EphemeralDirs(); err != nil || len(dirs) != 1 || dirs[0] != path {
		t.Errorf("got %v, %v, want the folder of the killed process", dirs, err)
	}
	if inspect(t, path).Foreign {
		t.Error("it is foreign to the HOME that it was made with")
	}
	setStateHome(t)
	if !inspect(t, path).Foreign {
		t.Error("it is not foreign to another HOME")
	}
}

func TestRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	if err := Remove(t.Context(), path); !errors.As(err, new(*NotFoundError)) {
		t.Errorf("no folder: got %v", err)
	}
	foreign := t.TempDir()
	testutil.WriteFile(t, filepath.Join(foreign, "thesis"), "")
	if err := Remove(t.Context(), foreign); !errors.As(err, new(*NotFoundError)) {
		t.Errorf("another folder: got %v", err)
	}
	if entries, err := os.ReadDir(foreign); err != nil || len(entries) != 1 {
		t.Errorf("another folder was changed: %v, %v", entries, err)
	}
	_, pid, kill := startHolder(t, "open", path)
	locked, ok := errors.AsType[*LockedError](Remove(t.Context(), path))
	if !ok || locked.PID != pid {
		t.Errorf("in use: got %v, want a LockedError of %d", locked, pid)
	}
	kill()
	if err := Remove(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after Remove: %v", err)
	}
}

func TestStop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	if stopped, err := Stop(t.Context(), path); stopped || err != nil {
		t.Errorf("no folder: got %v, %v", stopped, err)
	}
	startHolder(t, "open", path) // SIGTERM ends it
	if stopped, err := Stop(t.Context(), path); !stopped || err != nil {
		t.Errorf("got %v, %v", stopped, err)
	}
	if info := inspect(t, path); info.Running {
		t.Errorf("still running: %+v", info)
	}
}

func TestStopGivesUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	_, pid, _ := startHolder(t, "stubborn", path)
	ctx, cancel := context.WithTimeout(t.Context(), 5*stopPollInterval)
	defer cancel()
	if stopped, err := Stop(ctx, path); stopped || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, %v", stopped, err)
	}
	if !procstat.Exists(pid) {
		t.Error("the process was killed")
	}
}
