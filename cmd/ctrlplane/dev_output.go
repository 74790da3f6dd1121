package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/devloop"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui/live"
)

const (
	devOutputLines = 5000    // kept for the live view
	devLineBytes   = 4 << 10 // of a line in the live view
	devTailLines   = 200     // of a run, to say why it has failed
)

// devOutput is the output of the operator, and what dev says about it: for the live view,
// or as lines on stdout.
type devOutput struct {
	operator *linePrefixer
	stdout   io.Writer
	plain    *linePrefixer // messages of dev; nil if the live view shows them

	mu      sync.Mutex
	lines   []live.OutputLine
	last    uint64 // number of the last of lines, from 1
	tail    []string
	state   string
	running time.Time // since when; zero = not running
	bad     bool
}

func newDevOutput(stdout io.Writer, view viewMode) *devOutput {
	o := &devOutput{stdout: stdout}
	o.operator = &linePrefixer{out: o}
	if view != viewLive {
		o.operator.prefix = "[operator] "
		o.plain = newLinePrefixer(stdout, "dev")
	}
	return o
}

// Write receives whole lines of the operator, with their prefix.
func (o *devOutput) Write(lines []byte) (int, error) {
	o.mu.Lock()
	for line := range bytes.Lines(lines) {
		text := strings.TrimRight(strings.TrimPrefix(string(line), o.operator.prefix), "\r\n")
		o.tail = append(o.tail, text)
		o.add(live.OutputLine{Time: time.Now(), Text: text})
	}
	o.tail = o.tail[max(0, len(o.tail)-devTailLines):]
	o.mu.Unlock()
	if o.plain == nil {
		return len(lines), nil
	}
	return o.stdout.Write(lines)
}

// add keeps a line for the live view.
func (o *devOutput) add(l live.OutputLine) {
	if o.plain != nil {
		return
	}
	if len(l.Text) > devLineBytes {
		l.Text = l.Text[:devLineBytes] + "…"
	}
	o.last++
	o.lines = append(o.lines, l)
	if len(o.lines) >= 2*devOutputLines {
		o.lines = append([]live.OutputLine(nil), o.lines[len(o.lines)-devOutputLines:]...)
	}
}

// flush completes a last line without an end.
func (o *devOutput) flush() { o.operator.flush() }

// newRun begins a run; tail returns its last lines.
func (o *devOutput) newRun() (tail func() []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tail = nil
	return func() []string {
		o.mu.Lock()
		defer o.mu.Unlock()
		return append([]string(nil), o.tail...)
	}
}

// say shows a message of dev.
func (o *devOutput) say(text string, bad bool) {
	text = words.OneLine(text)
	o.mu.Lock()
	o.add(live.OutputLine{Time: time.Now(), Text: text, Own: true, Bad: bad})
	o.mu.Unlock()
	if o.plain != nil {
		_, _ = io.WriteString(o.plain, text+"\n") // the loss of stdout ends dev
	}
}

func (o *devOutput) warn(msg string) { o.say("warning: "+msg, true) }

// setState sets what the live view says about the operator.
func (o *devOutput) setState(state string, running, bad bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.state, o.running, o.bad = state, time.Time{}, bad
	if running {
		o.running = time.Now()
	}
}

// Lines implements live.Output.
func (o *devOutput) Lines(after uint64) (lines []live.OutputLine, last uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := min(o.last-min(after, o.last), uint64(len(o.lines)), devOutputLines)
	return append(lines, o.lines[uint64(len(o.lines))-n:]...), o.last
}

// State implements live.Output.
func (o *devOutput) State() (text string, bad bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.running.IsZero() {
		return fmt.Sprintf("%s for %s", o.state, time.Since(o.running).Round(time.Second)), false
	}
	return o.state, o.bad
}

// report shows a step of the loop, and notes in the control plane whether the operator has ended.
func (d *devCommand) report(e devloop.Event) {
	d.noteEnd(e)
	o := d.output
	switch e.Step {
	case devloop.Changed:
		o.say(fmt.Sprintf("%s changed: restarting the operator", nameFiles(e.Files)), false)
		o.setState("restarting", false, false)
	case devloop.Prepared:
		if e.Run > 1 {
			o.say(fmt.Sprintf("%s after %s", d.plane.describePrepared(), words.Duration(e.Took)), false)
		}
		if devloop.ExecFlagIndex(d.program.args) > 0 {
			o.setState("compiling", false, false)
		}
	case devloop.Began:
		text := fmt.Sprintf("operator started (run %d)", e.Run)
		if e.Run > 1 {
			text += fmt.Sprintf(", %s after the change", words.Duration(e.Took))
		}
		o.say(text, false)
		o.setState(fmt.Sprintf("run %d, running", e.Run), true, false)
	case devloop.Exited:
		o.say(fmt.Sprintf("%s (after %s); waiting for a change", e.Text, words.Duration(e.Took)), true)
		o.setState("exited; waiting for a change", false, true)
	case devloop.Failed:
		o.say(e.Text+"; waiting for a change", true)
		o.setState("not started; waiting for a change", false, true)
	}
}

// noteEnd lets the verbs of other processes say that the operator has ended.
func (d *devCommand) noteEnd(e devloop.Event) {
	observer := d.up.server.Observer()
	if observer == nil {
		return
	}
	switch e.Step {
	case devloop.Changed, devloop.Began:
		observer.SetEndedOperator(observe.EndedOperator{})
	case devloop.Exited, devloop.Failed:
		observer.SetEndedOperator(observe.EndedOperator{Time: time.Now(), Reason: e.Text})
	}
}

func (p *devPlane) describePrepared() string {
	if p.keep {
		return "operator stopped"
	}
	return "operator stopped and state restored"
}

const maxNamedRoots = 4

// describeWatched names the folders and files whose changes restart the operator, and the patterns of its sources.
func (d *devCommand) describeWatched() string {
	var names []string
	for _, root := range d.watchRoots() {
		if name := shortPath(root.Path); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if more := len(names) - maxNamedRoots; more > 0 {
		names = append(names[:maxNamedRoots], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ") + " (" + describeSources(d.match, d.sourceFiles()) + ")"
}

// sourceFiles returns the files that existed at the start and match in a folder of --watch or of the command, or are named
// by them.
func (d *devCommand) sourceFiles() (files []string) {
	roots := slices.Concat(d.watch, d.sources)
	for _, path := range d.watcher.Initial() {
		matches := d.isSource(filepath.Base(path))
		if containsPath(roots, func(root string) bool { return root == path || matches && isBelow(path, root) }) {
			files = append(files, path)
		}
	}
	slices.Sort(files)
	return slices.Compact(files) // a file may be in several roots
}

// containsPath reports whether one of some paths, made absolute, is of that kind.
func containsPath(paths []string, is func(abs string) bool) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		abs, err := filepath.Abs(path)
		return err == nil && is(abs)
	})
}

// describeSources names the patterns that match one of some files.
func describeSources(patterns, files []string) string {
	var used []string
	for _, pattern := range patterns {
		if slices.ContainsFunc(files, func(path string) bool {
			ok, err := filepath.Match(pattern, filepath.Base(path))
			return ok && err == nil
		}) {
			used = append(used, pattern)
		}
	}
	switch {
	case len(files) == 0:
		return "no file in --watch matches --match"
	case len(used) == 0: // they are named themselves
		return words.Count(len(files), "source")
	}
	return "sources: " + strings.Join(used, ", ")
}

// shortPath returns a path as it is from the current folder, if it is below that.
func shortPath(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, abs); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

// nameFiles names the first of some files, as short as possible.
func nameFiles(paths []string) string {
	name := shortPath(paths[0])
	if n := len(paths) - 1; n > 0 {
		return fmt.Sprintf("%s and %s", name, words.Count(n, "more file"))
	}
	return name
}

// events is where lines about the control plane go; nil with the live view.
func (o *devOutput) events() io.Writer {
	if o.plain == nil {
		return nil
	}
	return newLinePrefixer(o.stdout, "plane")
}
