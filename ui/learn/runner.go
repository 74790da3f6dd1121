package learn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

const (
	defaultWithin  = 30 * time.Second // for checks to hold, unless the lesson sets a time
	cleanupTimeout = time.Minute      // for the cleanup after a lesson
)

// Options configures a run of a lesson.
type Options struct {
	In       *os.File
	Out      io.Writer // of the reader's commands, which may need a terminal
	Text     io.Writer // to the same place, but of the lesson itself; nil = Out
	OnLoss   func()    // called if Text is not read when the lesson ends early; may be nil
	Mode     ui.Mode   // what Out can show
	Terminal bool      // In and Out are the same terminal, so use a line editor

	Config  *rest.Config // client configuration for the control plane
	Objects ui.Describer // examines its objects; nil = what is wrong with them is not shown
	Program string       // the path of ctrlplane
	Target  []string     // its flags that select the control plane
	Resume  string       // the command line that continues the lesson

	// Page returns another link that opens the page beside the lesson once; nil = there is none.
	Page func() string
	// Auto performs the reader's tasks.
	Auto bool
	// Dir is a folder for the lesson's files, which is kept; empty means a temporary one.
	Dir string
	// FirstStep is the step to begin with, from 0. The steps before it are performed
	// without output.
	FirstStep int
	// OnStep, if not nil, is called with the index of each step that begins, and with
	// len(Steps) at the end.
	OnStep func(step int) error
	// Interrupts says what an interrupt is meant for; nil = the whole lesson.
	Interrupts *Interrupts
	// SaveTrace, if not nil, is called with the traces that the lesson names, as JSON.
	SaveTrace func(about observe.Object, trace []byte) error
}

// LeftError says that a lesson has ended early.
type LeftError struct {
	Step  int   // the index of the step; len(Steps) if the lesson was complete
	Cause error // nil if the reader has left
}

// CanResume reports whether a lesson that is left at a step can be continued there: not at the
// first one, with which it begins, nor after the last one.
func (l *Lesson) CanResume(step int) bool {
	number, _ := l.Position(step)
	return number > 1 && step < len(l.Steps)
}

func (l *LeftError) Error() string {
	if l.Cause != nil {
		return l.Cause.Error()
	}
	return fmt.Sprintf("left at step %d", l.Step+1)
}

func (l *LeftError) Unwrap() error { return l.Cause }

// runner runs a lesson.
type runner struct {
	Options
	*console
	lesson    *Lesson
	plane     *controlPlane
	probe     *probe
	shell     *shell
	initial   *initialState
	created   bool         // the lesson's namespace
	tools     *datadir.Dir // nil until prepare has made it
	step      int          // the current one, also while earlier ones are repeated; len(lesson.Steps) when it is complete
	exitCode  int          // of the reader's last command
	replaying bool         // earlier steps are repeated, without output
	leftOut   []string     // titles of steps that were not completed
}

// Run runs a lesson, and cleans up after it. The error is a *LeftError if the reader has
// left.
func Run(ctx context.Context, l *Lesson, o Options) error {
	r := &runner{Options: o, lesson: l, step: o.FirstStep}
	if o.Text == nil {
		o.Text = o.Out
	}
	r.console = newConsole(o.In, ui.NewEndableWriter(ctx, o.Text, o.OnLoss), style{o.Mode}, o.Terminal && !o.Auto)
	r.console.interrupts = o.Interrupts
	defer r.in.close()
	err := r.prepare(ctx)
	if err == nil {
		err = r.runSteps(ctx)
	}
	switch {
	case ctx.Err() != nil:
		err = &LeftError{Step: r.step, Cause: context.Cause(ctx)}
	case errors.Is(err, errReaderLeft):
		err = &LeftError{Step: r.step}
	}
	if r.created && r.planeEnded(ctx) {
		r.shell.stopJobs()
		return errors.Join(errPlaneEnded, r.tools.Close())
	}
	return errors.Join(err, r.cleanUp(context.WithoutCancel(ctx)))
}

// runSteps runs the lesson, beginning with the first step.
func (r *runner) runSteps(ctx context.Context) error {
	r.printTitle()
	r.printInterventions(r.initial.interventions)
	if err := r.reachStep(ctx, r.replaySteps); err != nil {
		return err
	}
	for ; r.step < len(r.lesson.Steps); r.step++ {
		if r.OnStep != nil {
			if err := r.OnStep(r.step); err != nil {
				return err
			}
		}
		s := r.lesson.Steps[r.step]
		if !s.isPossible() {
			continue
		}
		if err := r.runStepToItsEnd(ctx, s); err != nil {
			return err
		}
	}
	if r.OnStep != nil {
		if err := r.OnStep(r.step); err != nil {
			return err
		}
	}
	if err := r.saveTraces(ctx); err != nil {
		return err
	}
	r.printf("\n%s %s\n", r.good(r.Glyph("✓", "ok")), r.bold(r.closingText()))
	return r.waitForEnd(ctx)
}

// replaySteps performs the steps before the current one, without output.
func (r *runner) replaySteps(ctx context.Context) error {
	if r.step == 0 {
		return nil
	}
	r.printf("%s\n", r.faint("Repeating the earlier steps …"))
	r.replaying = true
	defer func() { r.replaying = false }()
	for i, s := range r.lesson.Steps[:min(r.step, len(r.lesson.Steps))] {
		if !s.isPossible() {
			continue
		}
		for _, p := range s.Parts {
			if err := r.runPart(ctx, p); err != nil {
				number, _ := r.lesson.Position(i)
				return fmt.Errorf("cannot repeat step %d: %w", number, err)
			}
		}
	}
	return nil
}

// isPossible reports whether the programs that the step depends on are installed or not
// installed.
func (s *Step) isPossible() bool {
	has := func(program string) bool {
		_, err := exec.LookPath(program)
		return err == nil
	}
	return (s.Needs == "" || has(s.Needs)) && (s.Without == "" || !has(s.Without))
}

func (r *runner) printTitle() {
	head := r.lesson.Title
	if r.lesson.Minutes > 0 {
		head += r.faint("  about " + words.Count(r.lesson.Minutes, "minute"))
	}
	r.printf("\n%s\n%s\n", r.bold(head), r.renderMarkdown(r.lesson.Summary))
	if r.Terminal && !r.Auto {
		r.printf("%s", r.renderMarkdown("Commands that you type run in a shell in which `kubectl` and `ctrlplane` use this control plane and the namespace `"+
			r.shell.namespace+"`. To use another shell, run this in it:"))
		r.printf("\n  %s\n\n%s", r.code(envCommand(r.tools.Join(envFile))),
			r.renderMarkdown("Type `help` for other commands, `quit` to leave. Everything that the lesson creates is deleted when you leave it."))
	}
}

// runStep runs a step.
func (r *runner) runStep(ctx context.Context, s *Step) error {
	number, of := r.lesson.Position(r.step)
	r.printf("\n%s %s\n\n", r.faint(fmt.Sprintf("%s %d/%d", r.Glyph("──", "--"), number, of)), r.bold(s.Title))
	r.warnLeftOut()
	for _, p := range s.Parts {
		err := r.runPartForReader(ctx, p)
		if errors.Is(err, errLeftOut) {
			r.leaveOut(s)
			break
		}
		if err != nil {
			return err
		}
	}
	if len(s.Parts) > 0 {
		switch s.Parts[len(s.Parts)-1].(type) {
		case *Do, *Ask:
			return nil
		}
	}
	return r.waitForEnter(ctx, "Press Enter to continue. ")
}
