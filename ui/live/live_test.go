package live

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// startView starts a view that reads its keys from the returned pipe.
func startView(ctx context.Context, t *testing.T, o Options) (keys *io.PipeWriter, result func() (Leave, error)) {
	t.Helper()
	in, keys := io.Pipe()
	t.Cleanup(func() { _ = keys.Close() })
	o.In, o.Out, o.Environ = in, new(bytes.Buffer), []string{"TERM=xterm-256color"}
	type ended struct {
		leave Leave
		err   error
	}
	done := make(chan ended, 1)
	go func() {
		leave, err := Run(ctx, o)
		done <- ended{leave, err}
	}()
	return keys, func() (Leave, error) {
		e := <-done
		return e.leave, e.err
	}
}

func TestRunEndsByKey(t *testing.T) {
	tests := []struct {
		o    Options
		keys string
		want Leave
	}{
		{Options{Ephemeral: true}, "qs", Stop},
		{Options{Attached: true}, "q", KeepRunning},
		{Options{}, "ql", KeepRunning},
		{Options{}, "\x03", Stop},
	}
	for _, tt := range tests {
		t.Run(tt.keys, func(t *testing.T) {
			tt.o.Source = &fixedSource{snapshot: burstSnapshot(), records: podCreations(1, 10)}
			keys, result := startView(t.Context(), t, tt.o)
			if _, err := io.WriteString(keys, tt.keys); err != nil {
				t.Fatal(err)
			}
			if leave, err := result(); leave != tt.want || err != nil {
				t.Errorf("Run = %d, %v; want %d", leave, err, tt.want)
			}
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	for _, attached := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		source := &blockedSource{asked: make(chan struct{})}
		_, result := startView(ctx, t, Options{Source: source, Attached: attached})
		<-source.asked
		cancel()
		leave, err := result()
		if err != nil || (leave == KeepRunning) != attached {
			t.Errorf("Run = %d, %v; attached %t", leave, err, attached)
		}
	}
}

func TestBlockedSourceDoesNotBlockTheView(t *testing.T) {
	source := &blockedSource{asked: make(chan struct{})}
	keys, result := startView(t.Context(), t, Options{Source: source})
	<-source.asked
	if _, err := io.WriteString(keys, "qs"); err != nil {
		t.Fatal(err)
	}
	if leave, err := result(); leave != Stop || err != nil {
		t.Errorf("Run = %d, %v", leave, err)
	}
}

func TestRunReturnsWriteError(t *testing.T) {
	in, keys := io.Pipe()
	defer keys.Close()
	_, err := Run(t.Context(), Options{In: in, Out: failingWriter{}, Source: &fixedSource{snapshot: observe.Snapshot{}}})
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Run: %v", err)
	}
}

func TestRunEndsWhenTerminalIsGone(t *testing.T) {
	in, keys := io.Pipe()
	defer keys.Close()
	terminal, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := terminal.Close(); err != nil {
		t.Fatal(err)
	}
	leave, err := Run(t.Context(), Options{In: in, Out: out, Attached: true, Source: &fixedSource{snapshot: idleSnapshot()}})
	if err == nil || !strings.Contains(err.Error(), "cannot write to the terminal") || leave != KeepRunning {
		t.Errorf("Run = %d, %v", leave, err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestStuckTerminalDoesNotBlockRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		in, keys := io.Pipe()
		out := stuckWriter{make(chan struct{})}
		done := make(chan error, 1)
		go func() {
			_, err := Run(ctx, Options{In: in, Out: out, Source: &fixedSource{snapshot: idleSnapshot()}, Environ: []string{"TERM=xterm"}})
			done <- err
		}()
		<-time.After(2 * time.Second / pullsPerSecond) // the first frame is being written
		synctest.Wait()
		cancel()
		ended := time.Now()
		if err := <-done; err != nil || time.Since(ended) != closeTimeout {
			t.Errorf("Run: %v, after %v", err, time.Since(ended))
		}
		close(out.release)
		_ = keys.Close()
	})
}

// stuckWriter blocks until it is released.
type stuckWriter struct{ release chan struct{} }

func (s stuckWriter) Write(p []byte) (int, error) {
	<-s.release
	return len(p), nil
}
