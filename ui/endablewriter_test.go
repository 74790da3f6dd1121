package ui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// stuckWriter accepts nothing until it is released, as a pipe that is not read.
type stuckWriter struct {
	released chan struct{}
	got      strings.Builder
}

func (s *stuckWriter) Write(p []byte) (int, error) {
	<-s.released
	return s.got.Write(p)
}

// As long as the context lasts, a write waits for its output.
func TestEndableWriterWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &stuckWriter{released: make(chan struct{})}
		time.AfterFunc(time.Hour, func() { close(out.released) })
		e := NewEndableWriter(t.Context(), out, func() { t.Error("the output is lost") })
		if n, err := e.Write([]byte("a line\n")); n != 7 || err != nil || out.got.String() != "a line\n" {
			t.Errorf("%d, %v, %q", n, err, out.got.String())
		}
	})
}

// Once the context has ended, what waits for an output that accepts nothing ends in time, and a
// slow output still gets everything.
func TestEndableWriterAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		out := &stuckWriter{released: make(chan struct{})}
		losses := 0
		e := NewEndableWriter(ctx, out, func() { losses++ })
		ended := make(chan error, 2)
		for range cap(ended) {
			go func() {
				_, err := e.Write([]byte("a line\n"))
				ended <- err
			}()
		}
		synctest.Wait()
		cancel()
		began := time.Now()
		for range cap(ended) {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took != unreadTimeout {
			t.Errorf("it took %v, want %v", took, unreadTimeout)
		}
		close(out.released)
		synctest.Wait()
		if n, err := e.Write([]byte("more")); n != 4 || err != nil || losses != 1 || out.got.String() != "a line\n" {
			t.Errorf("%d, %v, %d losses, got %q", n, err, losses, out.got.String())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		out := &stuckWriter{released: make(chan struct{})}
		time.AfterFunc(unreadTimeout/2, func() { close(out.released) })
		e := NewEndableWriter(ctx, out, func() { t.Error("the output is lost") })
		for range 3 {
			if _, err := e.Write([]byte("x")); err != nil {
				t.Error(err)
			}
		}
		if out.got.String() != "xxx" {
			t.Errorf("got %q", out.got.String())
		}
	})
}

func TestEndableWriterReturnsErrors(t *testing.T) {
	full := errors.New("full")
	if _, err := NewEndableWriter(t.Context(), &writtenLines{err: full}, nil).Write([]byte("x")); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}
