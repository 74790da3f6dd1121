package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/replay"
	"github.com/ctrlplane/ctrlplane/ui"
)

const (
	// pullsPerSecond is how often the view polls its source.
	pullsPerSecond = 4
	// framesPerSecond bounds the delay from a key press to the screen. The view
	// draws nothing while nothing changes.
	framesPerSecond = 30
)

// Options configures Run.
type Options struct {
	In  io.Reader
	Out io.Writer
	// Source provides the data. If it implements observe.Inspector, the view shows
	// objects; if it implements control.Interventions, the view can pause, step,
	// stop and start controllers; if it is a ClientIntervener, it can pause and step
	// clients; if it is a SpeedController, it can slow everything down; if it is a
	// Browser, it can list objects with their health.
	Source observe.Source
	// Replay is a recording that is shown instead of a source; nil = none. It is played
	// from its beginning, or paused at At, if that is set.
	Replay  *replay.Recording
	At      *replay.Position
	Environ []string // in the form of os.Environ
	Theme   string   // one of Themes; empty = auto

	Ephemeral bool // stopping the control plane loses its data
	Attached  bool // the control plane belongs to another process: quitting keeps it running

	// Purpose describes a controller in two sentences; may be nil.
	Purpose func(controller string) string
	// Warnings returns all warnings up to now; may be nil.
	Warnings func() []string
	// Output is shown beside the queues; may be nil.
	Output Output
	// Page serves the page for a projector, unless it is served already, and returns a
	// link that opens it once; nil if there is none.
	Page func() (link string, err error)
	// Message is shown until the first key.
	Message string
}

// Leave says what to do with the control plane after the view has ended.
type Leave int

// The choices of the user.
const (
	Stop Leave = iota
	KeepRunning
)

// Run shows the view until the user quits or ctx ends, which is not an error. It returns a
// *FaultError for a fault of the view itself.
func Run(ctx context.Context, o Options) (Leave, error) {
	view, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil) // cancels a pull in progress
	defer context.AfterFunc(ctx, func() {
		ignoreBackgroundOutput()
		end(ctx.Err())
	})()
	m := newModel(view, o)
	m.failed = end
	options := []tea.ProgramOption{
		tea.WithContext(view), tea.WithInput(o.In), tea.WithOutput(guardOutput(o.Out, end)), tea.WithEnvironment(o.Environ),
		tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler(),
	}
	if f, ok := o.Out.(*os.File); ok {
		mode := ui.Detect(f, o.Environ)
		m = m.withPalette(func(p *palette) { p.color, p.ascii = mode.Color, mode.ASCII })
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
	case errors.As(context.Cause(view), new(*FaultError)):
		return m.leaveUnasked(), context.Cause(view)
	case view.Err() != nil:
		return m.leaveUnasked(), fmt.Errorf("live view: cannot write to the terminal: %w", context.Cause(view))
	}
	return m.leaveUnasked(), fmt.Errorf("live view: %w", err)
}

// closeTimeout is how long the view may take to restore the terminal when ctx ends.
const closeTimeout = time.Second

// runProgram runs the program. When ctx ends, it does not wait longer than
// closeTimeout for a terminal that does not accept output.
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

// leaveUnasked returns the choice for a user who quits without being asked.
func (m model) leaveUnasked() Leave {
	if m.attached {
		return KeepRunning
	}
	return Stop
}

func speedOf(s observe.Source) control.SpeedControl {
	if c, ok := s.(SpeedController); ok {
		return c.SpeedControl()
	}
	return nil
}

func browserOf(s observe.Source) Browser {
	b, _ := s.(Browser)
	return b
}

// newModel returns the view before its first pull.
func newModel(ctx context.Context, o Options) model {
	inspector, _ := o.Source.(observe.Inspector)
	interventions, _ := o.Source.(control.Interventions)
	var inClients control.Interventions
	if c, ok := o.Source.(ClientIntervener); ok {
		inClients = c.ClientInterventions()
	}
	m := model{
		ctx: ctx, source: o.Source, inspector: inspector, interventions: interventions, clientInterventions: inClients,
		speed: speedOf(o.Source), browser: browserOf(o.Source),
		purpose: o.Purpose, warn: o.Warnings, page: o.Page, message: o.Message, output: outputPane{source: o.Output},
		ephemeral: o.Ephemeral, attached: o.Attached,
		palette: palette{wanted: o.Theme, color: true}, zone: time.Local, shell: ui.DetectShell(runtime.GOOS, o.Environ),
		pulling: o.Source != nil, // Init starts the first pull
	}
	if o.Replay != nil {
		m.past = &replay.Playback{Recording: o.Replay, Position: o.Replay.Begin(), Playing: o.At == nil}
		if o.At != nil {
			m.past.Position = *o.At
		}
	} else {
		m.kept = &replay.Buffer{}
	}
	m.theme = m.palette.theme()
	first := m.newScreen(queuesScreen)
	first.feed.stream, m = m.newStream(first)
	m.screens = []screen{first}
	if m.past != nil {
		m = m.pullMoment()
	}
	return m
}
