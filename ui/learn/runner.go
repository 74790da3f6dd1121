package learn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

const (
	within    = 30 * time.Second // that checks hold, unless a lesson says
	cleanTime = time.Minute      // for the end of a lesson
)

// Options are where and how a lesson is done.
type Options struct {
	In       *os.File
	Out      io.Writer
	Mode     ui.Mode // what Out can show
	Terminal bool    // In and Out are one: lines are edited there

	Config  *rest.Config // the way in to the control plane
	Program string       // the path of ctrlplane
	Target  []string     // its flags that say which control plane

	// Auto does all that the reader should do.
	Auto bool
	// Dir is a folder for the lesson's files, which are kept; empty = a temporary one.
	Dir string
	// From is the step to begin with, from 0: what is to be done before it is
	// done again without a word.
	From int
	// Reached, if not nil, is told each step that begins, and len(Steps) at the end.
	Reached func(step int) error
	// Busy, if not nil, counts the reader's commands that have the terminal, or had it
	// a moment ago: an interrupt is then meant for them.
	Busy *atomic.Int32
	// Traces, if not nil, is given the traces that the lesson names, as JSON.
	Traces func(about observe.Object, trace []byte) error
}

// Left is that the reader has left a lesson at a step, from 0.
type Left struct{ Step int }

func (l *Left) Error() string { return fmt.Sprintf("left at step %d", l.Step+1) }

// runner is a lesson under way.
type runner struct {
	Options
	*console
	lesson *Lesson
	plane  *plane
	probe  *probe
	shell  *shell
	hands  *hands
	tools  string
	step   int
	quiet  bool // steps are done again
}

// Run does a lesson, and takes back at its end what is left of it. The error is
// a *Left if the reader has left.
func Run(ctx context.Context, l *Lesson, o Options) error {
	r := &runner{Options: o, lesson: l}
	r.console = newConsole(o.In, o.Out, style{o.Mode}, o.Terminal && !o.Auto)
	defer r.in.close()
	err := r.prepare(ctx)
	if err == nil {
		err = r.steps(ctx)
	}
	if errors.Is(err, errLeft) {
		err = &Left{r.step}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if r.shell != nil && r.dead(ctx) {
		r.shell.stop()
		return errors.Join(errDead, os.RemoveAll(r.tools))
	}
	return errors.Join(err, r.clean(context.WithoutCancel(ctx)))
}

// steps does the lesson from the step on that is to be the first.
func (r *runner) steps(ctx context.Context) error {
	r.title()
	if err := r.again(ctx); err != nil {
		return err
	}
	for r.step = r.From; r.step < len(r.lesson.Steps); r.step++ {
		if r.Reached != nil {
			if err := r.Reached(r.step); err != nil {
				return err
			}
		}
		s := r.lesson.Steps[r.step]
		if !s.possible() {
			continue
		}
		if err := r.one(ctx, s); err != nil {
			return err
		}
	}
	if r.Reached != nil {
		if err := r.Reached(r.step); err != nil {
			return err
		}
	}
	if err := r.giveTraces(ctx); err != nil {
		return err
	}
	r.printf("\n%s %s\n", r.good(r.mark("✓", "ok")), r.strong("That was lesson "+r.lesson.Name+"."))
	return nil
}

// again does without a word what comes before the first step.
func (r *runner) again(ctx context.Context) error {
	if r.From == 0 {
		return nil
	}
	r.printf("%s\n", r.faint("Doing again what comes before …"))
	r.quiet = true
	defer func() { r.quiet = false }()
	for r.step = 0; r.step < min(r.From, len(r.lesson.Steps)); r.step++ {
		s := r.lesson.Steps[r.step]
		if !s.possible() {
			continue
		}
		for _, p := range s.Parts {
			if err := r.part(ctx, p); err != nil {
				return fmt.Errorf("step %d cannot be done again: %w", r.step+1, err)
			}
		}
	}
	return nil
}

// possible says whether the programs are there, or not, that a step depends on.
func (s *Step) possible() bool {
	has := func(program string) bool {
		_, err := exec.LookPath(program)
		return err == nil
	}
	return (s.Needs == "" || has(s.Needs)) && (s.Without == "" || !has(s.Without))
}

func (r *runner) title() {
	head := r.lesson.Title
	if r.lesson.Minutes > 0 {
		head += r.faint(fmt.Sprintf("  about %d minutes", r.lesson.Minutes))
	}
	r.printf("\n%s\n%s\n", r.strong(head), r.markdown(r.lesson.Summary))
	if r.Terminal && !r.Auto {
		r.printf("%s", r.markdown("Commands that you type run in a shell in which `kubectl` and `ctrlplane` mean this control plane and the namespace `"+
			r.shell.namespace+"`. To use another shell, say there:"))
		r.printf("\n  %s\n\n%s", r.code(envCommand(filepath.Join(r.tools, envFile))),
			r.markdown("Type `help` for what else there is, `quit` to leave. All that the lesson makes goes when you leave it."))
	}
}

// one does a step.
func (r *runner) one(ctx context.Context, s *Step) error {
	r.printf("\n%s %s\n\n", r.faint(fmt.Sprintf("%s %d/%d", r.mark("──", "--"), r.step+1, len(r.lesson.Steps))), r.strong(s.Title))
	for _, p := range s.Parts {
		if err := r.part(ctx, p); err != nil {
			return err
		}
	}
	if len(s.Parts) > 0 {
		switch s.Parts[len(s.Parts)-1].(type) {
		case *Do, *Ask:
			return nil
		}
	}
	return r.pause(ctx)
}
