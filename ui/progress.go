package ui

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

const (
	frameInterval   = 100 * time.Millisecond // between two frames of the spinner
	closeTimeout    = 500 * time.Millisecond // how long Close waits for the terminal
	maxRunningShown = 8                      // running stages shown at once
	maxQueuedLines  = 200                    // queued lines above which warnings are only counted
)

var errTerminalStalled = errors.New("ui: the terminal does not accept output")

// Progress shows the stages of a start. Its methods are safe for concurrent use
// and do not block on the terminal: one goroutine writes, and draws only the
// latest state. Lines are written in order. When the terminal is too slow,
// Progress drops warnings and reports how many; it drops no other lines.
type Progress struct {
	w    io.Writer
	mode Mode
	wake chan struct{}
	done chan struct{}

	mu              sync.Mutex
	queue           []string        // permanent lines that are not written yet
	droppedWarnings int             // since the last frame
	running         []runningStage  // in start order
	flushes         []chan struct{} // closed once the queue is written
	closed          bool
	err             error // the first write error; no writes follow it
}

type runningStage struct {
	name string
	at   time.Time
}

// NewProgress returns a Progress that writes to w until Close. It may stay open
// after the start, for Print and Warn.
func NewProgress(w io.Writer, mode Mode) *Progress {
	p := &Progress{w: w, mode: mode, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go p.drawLoop()
	return p
}

// Begin shows a stage as running.
func (p *Progress) Begin(stage string) {
	p.update(func() { p.running = append(p.running, runningStage{stage, time.Now()}) })
}

// End shows how a stage ended.
func (p *Progress) End(stage string, took time.Duration, err error) {
	p.update(func() {
		p.remove(stage)
		p.queue = append(p.queue, Stage{Name: stage, Took: took, Err: err, Done: true}.finalLine(p.mode))
	})
}

// Drop ends a stage without a trace.
func (p *Progress) Drop(stage string) { p.update(func() { p.remove(stage) }) }

// remove removes a running stage. The caller holds the lock.
func (p *Progress) remove(stage string) {
	p.running = slices.DeleteFunc(p.running, func(r runningStage) bool { return r.name == stage })
}

// Print writes permanent text above the running stages.
func (p *Progress) Print(text string) {
	p.update(func() { p.queue = append(p.queue, strings.TrimSuffix(text, "\n")) })
}

// Warn writes a permanent warning above the running stages.
func (p *Progress) Warn(msg string) {
	p.update(func() {
		if len(p.queue) >= maxQueuedLines {
			p.droppedWarnings++
			return
		}
		p.queue = append(p.queue, formatWarning(p.mode, msg))
	})
}

func formatWarning(m Mode, msg string) string {
	return m.paintCaution("warning:") + " " + words.OneLine(msg)
}

// Flush waits until the queued lines are written, so that what others write follows them; at most half a second, as Close
// does.
func (p *Progress) Flush() {
	written := make(chan struct{})
	p.update(func() { p.flushes = append(p.flushes, written) })
	select {
	case <-written:
	case <-p.done:
	case <-time.After(closeTimeout):
	}
}

// Close writes the queued lines, marks running stages as not finished, and leaves
// the cursor on an empty line. It waits at most half a second for the terminal;
// a write still in progress then continues in the background. Close returns the
// first write error. It is idempotent.
func (p *Progress) Close() error {
	p.update(func() {
		for _, r := range p.running {
			p.queue = append(p.queue, Stage{Name: r.name, Took: time.Since(r.at)}.finalLine(p.mode))
		}
		p.running, p.closed = nil, true
	})
	select {
	case <-p.done:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.err
	case <-time.After(closeTimeout):
		return errTerminalStalled
	}
}

// update changes the state and requests a frame, unless Progress is closed.
func (p *Progress) update(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	f()
	select {
	case p.wake <- struct{}{}:
	default: // a frame is pending already
	}
}

// drawLoop writes frames until Close or a write error.
func (p *Progress) drawLoop() {
	defer close(p.done)
	ticker := time.NewTicker(frameInterval)
	defer ticker.Stop()
	ticker.Stop() // runs only while stages are running
	for onScreen, moving := 0, false; ; {
		select {
		case <-p.wake:
		case <-ticker.C:
		}
		picture, lines, flushes, last := p.nextFrame(onScreen)
		if picture != "" {
			if _, err := io.WriteString(p.w, picture); err != nil {
				p.stopWriting(err)
				return
			}
		}
		for _, written := range flushes {
			close(written)
		}
		if last {
			return
		}
		if onScreen = lines; moving != (lines > 0) {
			if moving = lines > 0; moving {
				ticker.Reset(frameInterval)
			} else {
				ticker.Stop()
			}
		}
	}
}

func (p *Progress) stopWriting(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = fmt.Errorf("ui: %w", err)
	p.closed, p.queue, p.running = true, nil, nil
}

// nextFrame empties the queue and returns the text to write, how many lines of
// running stages are on the screen after it, who waits for it, and whether it is the last frame.
func (p *Progress) nextFrame(onScreen int) (picture string, lines int, flushes []chan struct{}, last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stay, moving := p.queue, p.runningLines()
	flushes = p.flushes
	p.queue, p.flushes = nil, nil
	if p.droppedWarnings > 0 {
		stay = append(stay, formatWarning(p.mode, "see the log for "+CountNoun(p.droppedWarnings, "more warning")))
		p.droppedWarnings = 0
	}
	return composeFrame(onScreen, stay, moving, p.mode.Live), len(moving), flushes, p.closed
}

func (p *Progress) runningLines() []string {
	if !p.mode.Live {
		return nil
	}
	var lines []string
	for _, r := range p.running[:min(len(p.running), maxRunningShown)] {
		lines = append(lines, Stage{Name: r.name, Took: time.Since(r.at)}.runningLine(p.mode))
	}
	return lines
}

// composeFrame returns the output that replaces the last onScreen lines, with the
// cursor below them, by the permanent lines stay and the lines of running stages
// moving. It never hides the cursor, so there is nothing to restore.
func composeFrame(onScreen int, stay, moving []string, live bool) string {
	var b strings.Builder
	if onScreen > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", onScreen)
	}
	end := "\n"
	if live {
		end = "\x1b[K\n" // erases the rest of the old line
	}
	for _, lines := range [][]string{stay, moving} {
		for _, line := range lines {
			b.WriteString(strings.ReplaceAll(line, "\n", end) + end)
		}
	}
	if onScreen > 0 {
		b.WriteString("\x1b[J")
	}
	return b.String()
}
