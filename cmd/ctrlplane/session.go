package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/ui"
	"github.com/ctrlplane/ctrlplane/ui/explain"
	"github.com/ctrlplane/ctrlplane/ui/live"
)

// session runs a control plane that serves clients, and shows it.
type session struct {
	up       *upCommand
	view     viewMode
	stdout   io.Writer    // watched; nil if nothing is shown there
	progress startDisplay // until the live view opens
	warner   warner       // shows warnings; may be progress
	mode     ui.Mode
	ready    func() error // called once the control plane is usable; may be nil

	// Of "ctrlplane dev"; otherwise nil.
	operator         *devOutput
	beside           func(context.Context) (wait func()) // starts what runs beside the view
	kubernetesExited func()                              // ends the process instead of exit

	mu       sync.Mutex
	warnings []string // all so far
}

// startDisplay shows a start. A *ui.Progress is one.
type startDisplay interface {
	Begin(stage string)
	End(stage string, took time.Duration, err error)
	Drop(stage string)
	Print(text string)
	Flush()
	warner
	Close() error
}

type warner interface{ Warn(msg string) }

// showStage shows the progress of the start.
func (v *session) showStage(st ctrlplane.Stage) {
	switch {
	case !st.Ended:
		v.progress.Begin(st.Name)
	case errors.As(st.Err, new(*datadir.LockedError)): // nothing has failed: it runs already
		v.progress.Drop(st.Name)
	case errors.Is(st.Err, context.Canceled): // another step has failed: Close shows this one as not finished
	default:
		v.progress.End(st.Name, st.Took, st.Err)
	}
}

// showStageOf shows the progress of what belongs to the start and is done after that of the server.
func (v *session) showStageOf(name string, run func() error) error {
	began := time.Now()
	v.showStage(ctrlplane.Stage{Name: name})
	err := run()
	v.showStage(ctrlplane.Stage{Name: name, Ended: true, Took: time.Since(began), Err: err})
	return err
}

// showReady shows that the control plane is usable.
func (v *session) showReady(info ui.ReadyInfo) error {
	if d, ok := v.progress.(*detachedDisplay); ok {
		return d.reportReady(info)
	}
	v.progress.Print(ui.RenderReady(v.mode, info))
	v.progress.Flush() // what is printed next may not pass by the progress
	return nil
}

// warn shows a warning, in the progress of the start or on stderr, and in the live view.
func (v *session) warn(msg string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.warnings = append(v.warnings, msg)
	v.warner.Warn(msg) // does nothing once it is closed
}

func (v *session) warningsSoFar() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.warnings[:len(v.warnings):len(v.warnings)]
}

// watchUntilEnd shows the control plane until it exits, ctx ends or the user stops it.
func (v *session) watchUntilEnd(ctx context.Context) error {
	s := &v.up.server
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-s.Done():
			cancel(fmt.Errorf("the control plane has exited: %w", s.Err()))
		case <-ctx.Done():
		}
	})
	wait := func() {}
	if v.beside != nil {
		wait = v.beside(ctx)
	}
	defer func() {
		cancel(nil)
		watching.Wait()
		wait()
	}()
	if err := v.runView(ctx); err != nil {
		return err
	}
	if s.Err() != nil {
		return context.Cause(ctx)
	}
	if v.view == viewLive { // the progress is closed
		fmt.Fprintln(endable(ctx, v.stdout), "stopping")
	}
	v.progress.Print("stopping")
	return nil
}

// runView returns when ctx ends or the user stops the control plane.
func (v *session) runView(ctx context.Context) (err error) {
	s := &v.up.server
	src, err := newViewSource(s.Observer(), v.up.servedTarget(), s.Interventions(), s.ClientInterventions(), s.SpeedControl(), s.RESTConfig())
	if err != nil {
		return err
	}
	now, err := src.Snapshot(ctx)
	if err != nil {
		return err
	}
	after := now.Journal.Last
	switch v.view {
	case viewJSON:
		after = 0 // including the start
	case viewLive:
		if err := v.progress.Close(); err != nil {
			return err
		}
	}
	o := live.Options{Ephemeral: v.up.ephemeral, Theme: v.up.theme, Warnings: v.warningsSoFar, Out: endable(ctx, v.stdout)}
	if v.operator != nil {
		o.Ephemeral, o.Output = true, v.operator // it serves only the operator, which ends with it
		o.Out = v.operator.events()
	}
	endPage, err := v.addPage(ctx, &o, src)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endPage()) }()
	leave, err := v.view.showSource(ctx, src, after, o)
	if fault, ok := errors.AsType[*live.FaultError](err); ok && ctx.Err() == nil {
		writeWarning(endableStderr(ctx), fault.Error()) // it must not end the control plane
		leave, err = live.KeepRunning, nil
	}
	if err != nil || leave == live.Stop || ctx.Err() != nil {
		return err
	}
	// Short lines: terminals break long ones in the middle of a word.
	out := endable(ctx, v.stdout)
	fmt.Fprintf(out, "The control plane keeps running.\n  This terminal shows its events\n  To open the view again: %s\n  To stop the control plane: Ctrl-C here\n", v.up.servedTarget().commandLine("top"))
	if now, err = src.Snapshot(ctx); err != nil {
		return err
	}
	_, err = viewPlain.showSource(ctx, src, now.Journal.Last, live.Options{Out: out})
	return err
}

// addPage adds the page for a projector to a view.
func (v *session) addPage(ctx context.Context, o *live.Options, src viewSource) (end func() error, err error) {
	out := endable(ctx, v.stdout)
	if v.view == viewJSON || v.view == viewNone {
		out = stderr
	}
	facts := func(ctx context.Context) (explain.Facts, error) { return factsOf(ctx, v.up.server.RESTConfig()) }
	return v.view.addPage(o, pageSource{viewSource: src, speed: v.up.server.SpeedControl(), facts: facts}, v.up.web, out)
}

// newSession returns a session that shows the start on stdout, until closeDisplay.
func (u *upCommand) newSession(stdout io.Writer, l viewMode) (v *session, closeDisplay func()) {
	// In JSON mode stdout has only records.
	screen, mode := stdout, ui.Mode{}
	switch l {
	case viewLive:
		mode = ui.Detect(os.Stdout, os.Environ())
	case viewJSON, viewNone:
		screen = io.Discard
	}
	progress := ui.NewProgress(screen, mode)
	warnings := progress
	if screen == io.Discard {
		warnings = ui.NewProgress(stderr, ui.Mode{})
	}
	return &session{up: u, view: l, stdout: stdout, progress: progress, warner: warnings, mode: mode}, func() {
		// Their errors, that stdout or stderr is closed, could not be shown.
		_ = warnings.Close()
		_ = progress.Close()
	}
}
