package datadir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/procstat"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// startBystander starts a process that uses no data folder. The result reports whether a
// signal has ended it.
func startBystander(t *testing.T) (pid int, ended func() bool) {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // "signal: killed"
	})
	return cmd.Process.Pid, func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	}
}

// stopBriefly calls Stop for less time than a process needs that ignores the signal.
func stopBriefly(t *testing.T, path string) (bool, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*stopPollInterval)
	defer cancel()
	return Stop(ctx, path)
}

func TestStopSparesOtherProcesses(t *testing.T) {
	place, err := pidPlace()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ start, place, want string }{
		"the PID was reused":  {"1", place, "not the process that uses the folder"},
		"another container":   {"1", place + "0", "another container"},
		"the PID file is old": {"", "", "not the process that uses the folder"}, // the lock file is that of the holder
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data")
			_, holder, _ := startHolder(t, "open", path)
			pid, ended := startBystander(t)
			files := map[string]string{pidFile: strconv.Itoa(pid) + "\n"}
			if tt.place != "" {
				files[lockFile] = `{"pid":` + strconv.Itoa(pid) + `,"start":"` + tt.start + `","place":"` + tt.place + `"}`
			}
			testutil.WriteFiles(t, path, files)
			stopped, err := stopBriefly(t, path)
			if stopped || !strings.Contains(testutil.ErrorLine(t, err), tt.want) {
				t.Errorf("got %v, %v, want %s", stopped, err, tt.want)
			}
			if ended() {
				t.Error("the other process was stopped")
			}
			if !procstat.Exists(holder) {
				t.Error("the process that uses the folder was stopped")
			}
		})
	}
}

// TestStopAfterCrash checks that a lock that another command holds for a moment is not taken
// for a running process.
func TestStopAfterCrash(t *testing.T) {
	for name, content := range map[string]string{"older version": "", "PID reused": `{"pid":%d,"start":"1","place":"%s"}`} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			pid, ended := startBystander(t)
			place, err := pidPlace()
			if err != nil {
				t.Fatal(err)
			}
			content = strings.NewReplacer("%d", strconv.Itoa(pid), "%s", place).Replace(content)
			testutil.WriteFiles(t, path, map[string]string{markerFile: `{"format":1}`, lockFile: content, pidFile: strconv.Itoa(pid) + "\n"})
			synctest.Test(t, func(t *testing.T) {
				lock, err := tryLock(path, false)
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(lockTimeout/4, func() { _ = lock.Close() })
				if stopped, err := stopBriefly(t, path); stopped || err != nil {
					t.Errorf("got %v, %v, want nothing to stop", stopped, err)
				}
			})
			if ended() {
				t.Error("another process was stopped")
			}
		})
	}
}

// TestStopOlderVersion stops a process that has recorded its PID only.
func TestStopOlderVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	startHolder(t, "open", path)
	testutil.WriteFiles(t, path, map[string]string{lockFile: ""})
	if stopped, err := Stop(t.Context(), path); !stopped || err != nil {
		t.Errorf("got %v, %v", stopped, err)
	}
}

// TestStopBesideAnotherStop has another Stop end the process after its PID was read: the PID file
// can be read only once.
func TestStopBesideAnotherStop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	_, pid, _ := startHolder(t, "open", path)
	file := filepath.Join(path, pidFile)
	if err := errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600)); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		pipe, err := os.OpenFile(file, os.O_WRONLY, 0) // returns when Stop reads it
		if err != nil {
			written <- err
			return
		}
		_, err = fmt.Fprintln(pipe, pid)
		written <- errors.Join(os.Remove(file), err, pipe.Close())
	}()
	if stopped, err := Stop(t.Context(), path); !stopped || err != nil {
		t.Errorf("got %v, %v", stopped, err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

// A process that is suspended gets the signal when it continues.
func TestStopSuspendedProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	_, pid, _ := startHolder(t, "open", path)
	suspended := func() bool {
		info, err := Inspect(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Suspended
	}
	if suspended() {
		t.Error("it is said to be suspended before it is")
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	testutil.Await(t, "suspension", suspended)
	if stopped, err := Stop(t.Context(), path); !stopped || err != nil {
		t.Errorf("got %v, %v", stopped, err)
	}
}

func TestProcessStart(t *testing.T) {
	own, err := processStart(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := startBystander(t)
	later, err := processStart(pid)
	if err != nil {
		t.Fatal(err)
	}
	first, err := strconv.Atoi(own)
	second, laterErr := strconv.Atoi(later)
	if err != nil || laterErr != nil || first <= 0 || second < first {
		t.Errorf("got %q, and %q for a later process", own, later)
	}
}
