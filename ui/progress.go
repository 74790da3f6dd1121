package ui

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	frameInterval   = 100 * time.Millisecond // between two pictures of the spinner
	closeTimeout    = 500 * time.Millisecond // that Close waits for a terminal
	maxRunningShown = 8                      // running stages that are shown
	maxQueuedLines  = 200                    // lines that wait for a terminal before warnings are counted only
)

var errTerminalStalled = errors.New("ui: the terminal takes no more output")

// Progress shows the stages of a start. All of its methods may be called by
// several goroutines at once, and none waits for the terminal: one goroutine
// writes, and draws only the latest state. Lines are written in order and none
// is lost but warnings, when very many wait; then it says how many.
type Progress struct {
	w    io.Writer
	mode Mode
	wake chan struct{}
	done chan struct{}

	mu              sync.Mutex
	queue           []string       // lines that stay, to be written
	droppedWarnings int            // warnings that found the queue full
	running         []runningStage // in order of their begin
	closed          bool
	err             error // the first that a write met; nothing is written after it
}

type runningStage struct {
	name string
	at   time.Time
}

// NewProgress begins to show; Close ends it. It may stay open after the start,
// for what Print and Warn have to say.
func NewProgress(w io.Writer, mode Mode) *Progress {
	p := &Progress{w: w, mode: mode, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go p.drawLoop()
	return p
}

// Begin shows that a stage goes on.
func (p *Progress) Begin(stage string) {
	p.update(func() { p.running = append(p.running, runningStage{stage, time.Now()}) })
}

// End shows how a stage ended.
func (p *Progress) End(stage string, took time.Duration, err error) {
	p.update(func() {
		for i, r := range p.running {
			if r.name == stage {
				p.running = append(p.running[:i], p.running[i+1:]...)
				break
			}
		}
		p.queue = append(p.queue, Stage{Name: stage, Took: took, Err: err, Done: true}.finalLine(p.mode))
	})
}

// Print writes text that stays, above the running stages.
func (p *Progress) Print(text string) {
	p.update(func() { p.queue = append(p.queue, strings.TrimSuffix(text, "\n")) })
}

// Warn writes a warning that stays, above the running stages.
func (p *Progress) Warn(msg string) {
	p.update(func() {
		if len(p.queue) >= maxQueuedLines {
			p.droppedWarnings++
			return
		}
		p.queue = append(p.queue, formatWarning(p.mode, msg))
	})
}

// Close writes what is left, names the stages that had not ended, and leaves
// the cursor on a line of its own. It waits half a second at most for a
// terminal that takes no output; a write under way then goes on by itself. The
// error is the first that a write met. Close is idempotent.
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

// update changes the state, unless it is final, and has it drawn.
func (p *Progress) update(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	f()
	select {
	case p.wake <- struct{}{}:
	default: // a picture is due already
	}
}

// drawLoop is the goroutine that draws.
func (p *Progress) drawLoop() {
	defer close(p.done)
	ticker := time.NewTicker(frameInterval)
	defer ticker.Stop()
	ticker.Stop() // it ticks while something moves
	for onScreen, moving := 0, false; ; {
		select {
		case <-p.wake:
		case <-ticker.C:
		}
		picture, lines, last := p.nextFrame(onScreen)
		if picture != "" {
			if _, err := io.WriteString(p.w, picture); err != nil {
				p.stopWriting(err)
				return
			}
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

// nextFrame takes what is queued and returns what to write, how many lines of
// running stages are on the screen then, and whether it is the last one.
func (p *Progress) nextFrame(onScreen int) (picture string, lines int, last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stay, moving := p.queue, p.runningLines()
	p.queue = nil
	if p.droppedWarnings > 0 {
		stay = append(stay, formatWarning(p.mode, fmt.Sprintf("%d more warnings are in the log", p.droppedWarnings)))
		p.droppedWarnings = 0
	}
	return composeFrame(onScreen, stay, moving, p.mode.Live), len(moving), p.closed
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

// composeFrame returns what turns a screen whose last lines are onScreen running
// stages, with the cursor below them, into one where these lines are followed
// by others. The cursor is never hidden, so nothing is to be restored.
func composeFrame(onScreen int, stay, moving []string, live bool) string {
	var b strings.Builder
	if onScreen > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", onScreen)
	}
	end := "\n"
	if live {
		end = "\x1b[K\n" // what was on the line before
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
