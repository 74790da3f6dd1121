package ui

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

const ms = time.Millisecond

// playStart plays a start with its delays.
func playStart(p *Progress) {
	p.Begin("data folder")
	p.End("data folder", 2*ms, nil)
	p.Begin("etcd")
	p.Begin("certificates")
	time.Sleep(250 * ms)
	p.End("certificates", 250*ms, nil)
	p.Warn("the address 0.0.0.0 is not loopback:\n\x1b[31mother hosts on the network can connect to it")
	p.Begin("API server")
	time.Sleep(50 * ms)
}

func TestProgressPlain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var buf bytes.Buffer
		p := NewProgress(&buf, Mode{})
		playStart(p)
		p.End("etcd", 300*ms, errors.New("disk full"))
		time.Sleep(1200 * ms)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		testutil.Golden(t, "testdata/progress/plain.golden", buf.Bytes())
	})
}

func TestProgressLive(t *testing.T) {
	for _, width := range []int{20, 40, 80} {
		synctest.Test(t, func(t *testing.T) {
			s := &fakeTerminal{t: t, width: width}
			p := NewProgress(s, Mode{Live: true, Color: true, Width: fixedWidth(width)})
			var shots strings.Builder
			shot := func(title string) {
				synctest.Wait()
				fmt.Fprintf(&shots, "--- %s\n%s", title, s)
			}
			playStart(p)
			shot("after 300 ms")
			time.Sleep(frameInterval)
			shot("one frame later")
			p.End("etcd", 400*ms, nil)
			p.End("API server", 150*ms, errors.New("boom"))
			shot("all ended")
			p.Begin("controllers")
			p.Begin("readiness")
			p.Print("printed\n  in two lines\n")
			time.Sleep(frameInterval)
			shot("text above two others")
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			shot("closed")
			testutil.Golden(t, fmt.Sprintf("testdata/progress/live-%d.golden", width), []byte(shots.String()))
		})
	}
}

func TestProgressWritesNothingWhileIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeTerminal{t: t}
		p := NewProgress(s, Mode{Live: true})
		p.Begin("etcd")
		p.End("etcd", ms, nil)
		synctest.Wait()
		before := s.writes
		time.Sleep(time.Hour)
		if s.writes != before {
			t.Errorf("%d writes while no stage was running", s.writes-before)
		}
		p.Warn("late")
		synctest.Wait()
		if want := "✓ etcd            1 ms\nwarning: late\n"; s.String() != want {
			t.Errorf("the screen shows\n%swant\n%s", s, want)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestProgressLimitsRunningStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeTerminal{t: t}
		p := NewProgress(s, Mode{Live: true})
		for i := range maxRunningShown + 5 {
			p.Begin(fmt.Sprint(i))
		}
		time.Sleep(frameInterval)
		synctest.Wait()
		if got := strings.Count(s.String(), "\n"); got != maxRunningShown {
			t.Errorf("%d lines are drawn, want %d", got, maxRunningShown)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(s.String(), "not finished"); got != maxRunningShown+5 {
			t.Errorf("%d stages are marked as not finished, want %d:\n%s", got, maxRunningShown+5, s)
		}
	})
}

func TestProgressCloseGivesUpOnStalledTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		p := NewProgress(w, Mode{})
		p.Warn("first")
		synctest.Wait() // until the write blocks
		for i := range 10 {
			p.Begin(fmt.Sprint(i))
			p.End(fmt.Sprint(i), ms, nil)
		}
		for i := range maxQueuedLines {
			p.Warn(fmt.Sprint(i))
		}
		p.End("last", ms, nil)
		began := time.Now()
		if err := p.Close(); !errors.Is(err, errTerminalStalled) {
			t.Errorf("Close: %v, want %v", err, errTerminalStalled)
		}
		if took := time.Since(began); took != closeTimeout {
			t.Errorf("Close took %v, want %v", took, closeTimeout)
		}

		// When the terminal accepts output again, only the excess warnings are missing.
		var buf bytes.Buffer
		copied := make(chan error)
		go func() {
			_, err := io.Copy(&buf, r)
			copied <- err
		}()
		if err := p.Close(); err != nil {
			t.Errorf("Close again: %v", err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-copied; err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(buf.String(), "\n"), "\n")
		if got, want := len(lines), 1+maxQueuedLines+1+1; got != want {
			t.Errorf("%d lines, want %d", got, want)
		}
		want := []string{"warning: 189", "last            1 ms", "warning: see the log for 10 more warnings"}
		if diff := cmp.Diff(want, lines[len(lines)-3:]); diff != "" {
			t.Errorf("the last lines (-want +got):\n%s", diff)
		}
	})
}

// What is written after Flush follows the lines of Progress.
func TestProgressFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var buf bytes.Buffer
		p := NewProgress(&buf, Mode{})
		for i := range 100 {
			p.Print("ready")
			p.Flush()
			if got := strings.Count(buf.String(), "ready\n"); got != i+1 {
				t.Fatalf("%d lines are written after %d", got, i+1)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		p.Flush() // does not wait
	})
}

func TestProgressReturnsWriteError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewProgress(closedFile(t), Mode{})
		p.Warn("lost")
		synctest.Wait()
		p.Begin("etcd")
		p.End("etcd", ms, nil)
		for range 2 {
			if err := p.Close(); err == nil || !strings.HasPrefix(err.Error(), "ui: write ") {
				t.Errorf("Close = %v, want the write error", err)
			}
		}
	})
}

func TestProgressConcurrently(t *testing.T) {
	s := &fakeTerminal{t: t}
	p := NewProgress(s, Mode{Live: true, Color: true, Width: fixedWidth(80)})
	const goroutines, each = 8, 50
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				name := fmt.Sprintf("stage %d-%d", g, i)
				p.Begin(name)
				p.End(name, ms, nil)
			}
		})
	}
	wg.Wait()
	err := p.Close()
	for errors.Is(err, errTerminalStalled) { // the writer may be slow on a busy machine
		err = p.Close()
	}
	if err = errors.Join(err, p.Close()); err != nil {
		t.Fatal(err)
	}
	p.End("after Close", ms, nil)
	got := s.String()
	if lines := strings.Count(got, "\n"); lines != goroutines*each {
		t.Errorf("%d lines, want %d", lines, goroutines*each)
	}
	for line := range strings.Lines(got) {
		if !strings.HasPrefix(line, "✓ stage ") || !strings.HasSuffix(line, " 1 ms\n") {
			t.Errorf("broken line %q", line)
		}
	}
}

func TestFormatWarning(t *testing.T) {
	for _, tt := range []struct {
		mode Mode
		want string
	}{
		{Mode{}, "warning: a b [31mc"},
		{Mode{Color: true}, "\x1b[1;33mwarning:\x1b[m a b [31mc"},
	} {
		if got := formatWarning(tt.mode, "a\n\tb \x1b[31mc\u009b\x07"); got != tt.want {
			t.Errorf("formatWarning in %+v = %q, want %q", tt.mode, got, tt.want)
		}
	}
}
