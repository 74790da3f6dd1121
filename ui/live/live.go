// Package live is the full-screen view of a control plane: every work queue,
// what the controllers do, and what is behind a controller or an object. It
// pulls what it shows, a few times a second, so that nobody ever waits for it.
package live

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

const (
	// pullsPerSecond is how often what is shown changes by itself at most.
	pullsPerSecond = 4
	// framesPerSecond is how soon a key shows. Nothing is drawn while nothing changes.
	framesPerSecond = 30
)

// Options are what Run shows, where, and what leaving means.
type Options struct {
	In      io.Reader
	Out     io.Writer
	Source  observe.Source // an observe.Inspector shows objects, too; control.Gates let keys lay a hand on controllers
	Environ []string       // as of os.Environ
	NoColor bool

	Ephemeral bool // the control plane is not kept: quitting stops it without a question
	Attached  bool // it belongs to another process: quitting only leaves

	// Purpose returns what a controller is for, in two sentences; may be nil.
	Purpose func(controller string) string
	// Warnings returns what has to be said so far; may be nil.
	Warnings func() []string
}

// Leave is what is to become of the control plane when the view has ended.
type Leave int

// What the user may want.
const (
	Stop Leave = iota
	KeepRunning
)

// Run shows the view until the user leaves it or ctx ends, which is no error.
func Run(ctx context.Context, o Options) (Leave, error) {
	view, end := context.WithCancelCause(ctx)
	defer end(nil) // a pull that is under way is of no use any more
	m := newModel(view, o)
	options := []tea.ProgramOption{
		tea.WithContext(view), tea.WithInput(o.In), tea.WithOutput(guardOutput(o.Out, end)), tea.WithEnvironment(o.Environ),
		tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler(),
	}
	if f, ok := o.Out.(*os.File); ok {
		mode := ui.Detect(f, o.Environ)
		m = m.withTheme(newTheme(mode.Color && !o.NoColor, true, mode.ASCII))
	}
	if !m.theme.color {
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	last, err := runProgram(ctx, tea.NewProgram(m, options...))
	switch {
	case ctx.Err() != nil:
		return m.leaveUnasked(), nil
	case err == nil:
		return last.(model).leave, nil
	case view.Err() != nil:
		return m.leaveUnasked(), fmt.Errorf("live view: cannot write to the terminal: %w", context.Cause(view))
	}
	return m.leaveUnasked(), fmt.Errorf("live view: %w", err)
}

// closeTimeout is how long a view may take to restore the terminal when ctx ends.
const closeTimeout = time.Second

// runProgram waits for the program, but not for a terminal that takes no output.
func runProgram(ctx context.Context, p *tea.Program) (tea.Model, error) {
	type ending struct {
		model tea.Model
		err   error
	}
	done := make(chan ending, 1)
	go func() {
		m, err := p.Run()
		done <- ending{m, err}
	}()
	select {
	case e := <-done:
		return e.model, e.err
	case <-ctx.Done():
	}
	select {
	case e := <-done:
		return e.model, e.err
	case <-time.After(closeTimeout):
		return nil, ctx.Err()
	}
}

// leaveUnasked is what a user wants who leaves without being asked.
func (m model) leaveUnasked() Leave {
	if m.attached {
		return KeepRunning
	}
	return Stop
}

// newModel is the view before its first pull.
func newModel(ctx context.Context, o Options) model {
	inspector, _ := o.Source.(observe.Inspector)
	gates, _ := o.Source.(control.Interventions)
	m := model{
		ctx: ctx, source: o.Source, inspector: inspector, interventions: gates,
		purpose: o.Purpose, warn: o.Warnings,
		ephemeral: o.Ephemeral, attached: o.Attached,
		theme: newTheme(!o.NoColor, true, false), zone: time.Local,
		pulling: true, // Init begins
	}
	first := m.newScreen(queuesScreen)
	first.feed.stream, m = m.newStream(first)
	m.screens = []screen{first}
	return m
}
