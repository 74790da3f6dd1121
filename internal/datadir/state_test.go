package datadir

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d")
	d := mustOpen(t, path)
	got, err := d.State()
	if diff := cmp.Diff(State{PID: os.Getpid()}, got); err != nil || diff != "" {
		t.Errorf("before the first save: %v (-want +got):\n%s", err, diff)
	}
	saved := State{
		Port:              6443,
		Server:            "https://127.0.0.1:6443",
		KubernetesVersion: "v1.37.1",
		EmulatedVersion:   "1.35",
		StartedAt:         time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		PID:               7,
	}
	if err := d.SaveState(saved); err != nil {
		t.Fatal(err)
	}
	mustClose(t, d)

	d = mustOpen(t, path)
	want := saved
	want.PID = os.Getpid()
	got, err = d.State()
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("after a restart: %v (-want +got):\n%s", err, diff)
	}
	const content = "{\n  \"port\": 6443,\n  \"server\": \"https://127.0.0.1:6443\",\n  \"kubernetesVersion\": \"v1.37.1\",\n  \"emulatedVersion\": \"1.35\",\n  \"startedAt\": \"2026-01-02T03:04:05Z\"\n}\n"
	_, written, _ := strings.Cut(readTree(t, path)[stateFile], " ")
	if diff := cmp.Diff(content, written); diff != "" {
		t.Errorf("state.json (-want +got):\n%s", diff)
	}
}

func TestPeek(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d")
	peek := func(when string, want State, wantRunning bool) {
		t.Helper()
		got, running, err := Peek(path)
		if diff := cmp.Diff(want, got); err != nil || running != wantRunning || diff != "" {
			t.Errorf("%s: running %v, want %v; %v (-want +got):\n%s", when, running, wantRunning, err, diff)
		}
	}
	peek("no folder", State{}, false)
	if _, err := os.Stat(path); err == nil {
		t.Error("Peek has created the folder")
	}

	_, pid, kill := startHolder(t, "open", path)
	peek("another process", State{PID: pid}, true)
	kill()
	peek("crashed", State{}, false)

	d := mustOpen(t, path)
	if err := d.SaveState(State{Port: 6443}); err != nil {
		t.Fatal(err)
	}
	peek("this process", State{Port: 6443, PID: os.Getpid()}, true)
	testutil.WriteFiles(t, path, map[string]string{pidFile: "\x00\n"})
	peek("pid torn", State{Port: 6443}, true)
	mustClose(t, d)
	peek("closed", State{Port: 6443}, false)

	testutil.WriteFiles(t, path, map[string]string{stateFile: "x"})
	_, _, err := Peek(path)
	want := fmt.Sprintf("data folder %s: state.json is corrupt (invalid character 'x' looking for beginning of value): remove that file, and the next start chooses a new port", path)
	if got := testutil.ErrorLine(t, err); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestPeekWhileOpening checks that Peek makes no Open fail, and that Peek does not mistake
// another Peek for a running process.
func TestPeekWhileOpening(t *testing.T) {
	path := t.TempDir()
	d := mustOpen(t, path)
	if err := d.SaveState(State{Port: 1}); err != nil {
		t.Fatal(err)
	}
	mustClose(t, d)
	// A PID that no process has, as after a crash, so that only the lock counts.
	_, dead, kill := startHolder(t, "open", t.TempDir())
	kill()
	testutil.WriteFiles(t, path, map[string]string{pidFile: strconv.Itoa(dead)})

	looking := func(stop chan struct{}, wantRunning *bool) *sync.WaitGroup {
		var one sync.WaitGroup
		one.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				s, running, err := Peek(path)
				if err != nil || s.Port == 0 {
					t.Errorf("peek: %+v, %v", s, err)
					return
				}
				if wantRunning != nil && running != *wantRunning {
					t.Errorf("running %v, want %v", running, *wantRunning)
					return
				}
			}
		})
		return &one
	}
	stop := make(chan struct{})
	not := false
	other := looking(stop, &not)
	for range 500 {
		if _, running, err := Peek(path); err != nil || running {
			t.Errorf("running %v, %v, while there are only calls of Peek", running, err)
			break
		}
	}
	close(stop)
	other.Wait()

	stop = make(chan struct{})
	other = looking(stop, nil)
	for port := range 300 {
		d, err := Open(t.Context(), path, 1)
		if err != nil {
			t.Error(err)
			break
		}
		if err := d.SaveState(State{Port: port + 1}); err != nil {
			t.Error(err)
		}
		mustClose(t, d)
	}
	close(stop)
	other.Wait()
}
