package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
	"github.com/ctrlplane/ctrlplane/ui/learn"
)

// runLessons runs lessons, on a running control plane or on one started for them.
func (l *learnCommand) runLessons(ctx context.Context, list []chosenLesson, p *learn.Progress, path string) (err error) {
	var interrupts learn.Interrupts
	ctx, release := withLessonSignals(ctx, &interrupts)
	defer release()
	surviveClosedOutput() // until the process ends: main prints an error
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	defer func() { err = joinLoss(ctx, err) }()
	stdout := &watchedStdout{lose, "redirect it to a file"}
	out := endable(ctx, stdout)
	from := 0
	if l.resume {
		from = p.ResumeStep(list[0].key, len(list[0].Steps))
	}
	o, stop, err := l.findOrStartPlane(ctx, out, list)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if o.Objects, err = newObjectBrowser(o.Config, nil); err != nil {
		return err
	}
	if l.web {
		page, pageErr := serveLessonPage(out, o.Config, list)
		if pageErr != nil {
			return pageErr
		}
		defer func() { err = errors.Join(err, page.Close()) }()
		o.Page = page.OnceLink
	}
	o.In, o.Out, o.Text, o.Mode = os.Stdin, os.Stdout, stdout, ui.Detect(os.Stdout, os.Environ())
	o.OnLoss = func() { warnUnread(ctx) }
	o.Terminal = term.IsTerminal(int(os.Stdin.Fd())) && o.Mode.Live
	o.Auto, o.Dir, o.FirstStep, o.Interrupts = l.auto, l.dir, from, &interrupts
	if o.Program, err = os.Executable(); err != nil {
		return err
	}
	joined, err := l.joinClass(out)
	if err != nil {
		return err
	}
	defer joined.close()
	for _, c := range list {
		o.OnStep = func(step int) error {
			joined.sendStep(c, step)
			if l.auto {
				return nil
			}
			if err := learn.SaveStep(path, l.progressOwner(), c.key, step, len(c.Steps)); err != nil {
				return fmt.Errorf("your progress cannot be saved (%w): fix the cause, or set XDG_STATE_HOME to another folder", err)
			}
			return nil
		}
		o.Resume = l.resumeCommand(c)
		o.SaveTrace = l.traceWriter(c.Name)
		if left, err := l.runLesson(ctx, c, o, out, joined); left || err != nil {
			return err
		}
	}
	if !l.auto {
		l.printNextLesson(out, list[0].Name)
	}
	return nil
}

// runLesson runs a lesson, and reports whether the reader has left it.
func (l *learnCommand) runLesson(ctx context.Context, c chosenLesson, o learn.Options, out io.Writer, joined *joinedClass) (left bool, err error) {
	if err = learn.Run(ctx, c.Lesson, o); err != nil {
		joined.sendLeft(c)
	}
	at, early := errors.AsType[*learn.LeftError](err)
	if early && !l.auto {
		fmt.Fprint(out, l.howToContinue(c, at.Step))
	}
	if early && at.Cause == nil {
		return true, withoutLeftError(err)
	}
	if err != nil {
		return false, fmt.Errorf("lesson %s: %w", c.Name, err)
	}
	return false, nil
}

// howToContinue is the line that says how to continue a lesson that ended at a step; empty if it was complete.
func (l *learnCommand) howToContinue(c chosenLesson, step int) string {
	number, _ := c.Position(step)
	switch {
	case c.CanResume(step):
		return fmt.Sprintf("To continue at step %d: %s\n", number, l.resumeCommand(c))
	case step < len(c.Steps):
		return fmt.Sprintf("To begin again: %s\n", l.again(c, ""))
	}
	return ""
}

func (l *learnCommand) resumeCommand(c chosenLesson) string { return l.again(c, " --resume") }

// withoutLeftError removes the error that the reader has left.
func withoutLeftError(err error) error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		var rest []error
		for _, e := range joined.Unwrap() {
			if _, left := errors.AsType[*learn.LeftError](e); !left {
				rest = append(rest, e)
			}
		}
		return errors.Join(rest...)
	}
	return nil
}

// printNextLesson prints how to start the lesson after the named one.
func (l *learnCommand) printNextLesson(out io.Writer, name string) {
	all, err := learn.All()
	if err != nil {
		return // the lessons were read without an error before
	}
	for i, lesson := range all {
		if lesson.Name == name && i+1 < len(all) {
			fmt.Fprintf(out, "Next lesson: %s: %s\n", all[i+1].Title, l.target.commandLine(fmt.Sprintf("learn %d", i+2)+l.classFlags()))
		}
	}
}

// traceWriter returns a function that writes the traces of a lesson to files; nil
// without --traces.
func (l *learnCommand) traceWriter(lesson string) func(observe.Object, []byte) error {
	if l.traces == "" {
		return nil
	}
	return func(about observe.Object, trace []byte) error {
		if err := os.MkdirAll(l.traces, 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(l.traces, lesson+"."+strings.ToLower(about.Kind)+".json"), trace, 0o644)
	}
}

// findOrStartPlane connects to the running control plane. If it is not running, it starts one of its name, and stop stops
// that: unless there is one that has been stopped, or a folder was named.
func (l *learnCommand) findOrStartPlane(ctx context.Context, out io.Writer, list []chosenLesson) (o learn.Options, stop func() error, err error) {
	none := func() error { return nil }
	dir, err := l.target.toChange().runningDataDir()
	if err == nil {
		o.Config, err = l.target.restConfig()
		o.Target = []string{"--data-dir", dir}
		fmt.Fprintf(out, "Using the running control plane in %s.\n", dir)
		return o, none, err
	}
	why := "No control plane is running"
	switch {
	case errors.As(err, new(unknownKubeconfigError)):
		why = "KUBECONFIG selects no control plane"
	case errors.As(err, new(ambiguousError)):
		why = fmt.Sprintf("Control plane %q is not running", l.target.byName().name)
	case !errors.As(err, new(notRunningError)):
		return o, none, err
	case l.target.named():
		if path, pathErr := l.target.dataDirPath(); l.target.dataDir != "" || pathErr != nil || exists(path) {
			return o, none, fmt.Errorf("control plane %q is not running: start it with %s", l.target.name, l.target.quoteCommand("up -d"))
		}
		why = fmt.Sprintf("Control plane %q is not running", l.target.name)
	}
	var flags []string
	for _, c := range list {
		flags = append(flags, c.Plane...)
	}
	u, err := newLessonPlane(ctx, l.target, flags)
	if err != nil {
		return o, none, usage.Errorf("lesson %s: plane: %w", list[0].Name, err)
	}
	if l.target.named() {
		if err := u.rejectTakenName(); err != nil {
			return o, none, err
		}
	}
	fmt.Fprintf(out, "%s: starting one for the lesson …\n", why)
	if stop, err = u.startForLesson(ctx); err != nil {
		return o, none, err
	}
	o.Config = u.server.RESTConfig()
	o.Target = []string{"--data-dir", u.server.DataDir()}
	return o, stop, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
