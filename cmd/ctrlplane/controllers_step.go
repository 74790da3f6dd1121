package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/health/stepping"
	"github.com/ctrlplane/ctrlplane/internal/objectdiff"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui"
)

// stepCommand has the flags of "ctrlplane controllers step" and "ctrlplane clients step".
type stepCommand struct {
	target  *target
	actors  actors
	name    string
	n       int
	until   string
	timeout time.Duration
	output  *outputFlag
}

func newStepCommand(t *target, a actors) *cobra.Command {
	s := &stepCommand{target: t, actors: a, output: newObjectOutput()}
	cmd := &cobra.Command{
		Use:   "step NAME [N]",
		Short: "Release the next held writes of a paused " + a.noun + " and show what each changes",
		Long: fmt.Sprintf(`Release the next N held writes of a paused %s, 1 by default. Each write is
answered before the next one is released, and is then printed with a diff of the
object before and after: its YAML without managed fields, with the values of
Secrets masked. If fewer writes are held, step waits for more: without a limit unless
--timeout is given; interrupt it to stop waiting. It also waits while a write that was
released before has no answer, as in a webhook. With -o json each write is one line,
with -o yaml one document.`, a.noun),
		Example: fmt.Sprintf(`  ctrlplane %[1]s step %[2]s
  ctrlplane %[1]s step %[2]s 3
  ctrlplane %[1]s step %[2]s -o json | jq .after.metadata.name`, a.plural, a.examples[0]),
		Args: func(cmd *cobra.Command, args []string) error { return s.validate(cmd, args) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	s.output.add(cmd)
	f := cmd.Flags()
	f.DurationVar(&s.timeout, "timeout", 0, "how long to wait for the writes (default: no limit)")
	f.StringVar(&s.until, "until", "", "continue until the control plane has reached a state: settled")
	if !s.knowsWork() {
		_ = f.MarkHidden("until") // fails only for a flag that does not exist
		return cmd
	}
	cmd.Use = "step NAME [N | --until settled]"
	cmd.Long += `

--until settled continues until no write is held and the control plane has settled,
apart from other paused controllers. If that takes longer than --timeout, the exit
code is 1, and stderr lists the busy controllers.`
	cmd.Example = `  ctrlplane controllers step replicaset
  ctrlplane controllers step replicaset 3
  ctrlplane controllers step replicaset --until settled
  ctrlplane controllers step replicaset -o json | jq .after.metadata.name`
	f.Lookup("timeout").Usage = "how long it may take (default: no limit, and 1m with --until)"
	return cmd
}

// knowsWork reports whether it is known what the actors have left to do. Of a client only the requests are.
func (s *stepCommand) knowsWork() bool { return !s.actors.ofClients }

func (s *stepCommand) validate(cmd *cobra.Command, args []string) (err error) {
	switch {
	case len(args) < 1 || len(args) > 2:
		return usage.Errorf("%s step takes the name of a %s and a number of writes, got %q", s.actors.plural, s.actors.noun, strings.Join(args, " "))
	case cmd.Flags().Changed("until") && !s.knowsWork():
		return usage.Errorf("clients step: --until is for controllers: what a client has left to do is not known: use a number of writes, or resume")
	case cmd.Flags().Changed("until") && s.until != "settled":
		return usage.Errorf("--until: unknown state %q: use settled", s.until)
	case s.until != "" && len(args) > 1:
		return usage.Errorf("controllers step: the number of writes and --until exclude each other: use one of them")
	case cmd.Flags().Changed("timeout") && s.timeout <= 0:
		return usage.Errorf("--timeout: %v is not positive: use one such as 30s, or leave the flag out", s.timeout)
	case s.until != "" && s.timeout == 0:
		s.timeout = time.Minute
	}
	s.n = 1
	if len(args) > 1 {
		if s.n, err = strconv.Atoi(args[1]); err != nil || s.n < 1 {
			return usage.Errorf("%s step: %q is not a number of writes: use 1 or more", s.actors.plural, args[1])
		}
	}
	names, err := s.actors.parseNames("step", args[:1], false)
	if err != nil {
		return err
	}
	if len(names) != 1 {
		return usage.Errorf("%s step takes one %s, got %q: leave out all but one", s.actors.plural, s.actors.noun, args[0])
	}
	s.name = names[0]
	return nil
}

func (s *stepCommand) run(ctx context.Context, out, errs io.Writer) error {
	client, err := s.target.toChange().controlClient()
	if err != nil {
		return err
	}
	mode := ui.Detect(os.Stdout, os.Environ())
	each := func(done *control.SteppedWrite) error { return s.printStep(out, mode, done) }
	if s.timeout > 0 {
		bounded, cancel := withTimeout(ctx, s.timeout)
		defer cancel()
		ctx = bounded
	}
	if s.until == "" {
		return s.stepWrites(ctx, s.actors.interventions(client), errs, each)
	}
	err = stepping.UntilSettled(ctx, s.actors.interventions(client), client, s.name, each)
	if busy, ok := errors.AsType[*settled.BusyError](err); ok {
		printRemainingWork(errs, busy.Work)
		if _, asked := s.askHeldWrites(ctx, s.actors.interventions(client)); asked != nil {
			err = fmt.Errorf("%w: %w", err, asked)
		}
	}
	return err
}

// stepWrites releases one write per request, so that at most one is in flight when this
// process is interrupted.
func (s *stepCommand) stepWrites(ctx context.Context, interventions control.Interventions, errs io.Writer, each func(*control.SteppedWrite) error) error {
	said := false // that it waits, since the last write
	for n := 0; n < s.n; {
		done, err := s.stepOrWait(ctx, interventions, errs, &said)
		if done != nil {
			n, said = n+1, false
			if err := each(done); err != nil {
				return err
			}
			continue
		}
		if ctx.Err() != nil { // one more write may have been released, but not answered
			why := "interrupted"
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				why = context.Cause(ctx).Error()
			}
			return fmt.Errorf("%s: %d of %s done%s", why, n, words.Count(s.n, "write"), s.explainNoStep(ctx, interventions))
		}
		if err != nil && (said || n > 0) {
			if held, asked := s.askHeldWrites(ctx, interventions); asked == nil && !held.Paused {
				return fmt.Errorf("%s was resumed meanwhile: %d of %s done", held.Controller, n, words.Count(s.n, "write"))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// explainNoStep says why a held write was not released in time: one at a time is, and the one before has no answer.
func (s *stepCommand) explainNoStep(ctx context.Context, interventions control.Interventions) string {
	held, err := s.askHeldWrites(ctx, interventions)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled): // an answer may only need longer
		return ""
	case err != nil:
		return ": " + err.Error()
	case !held.Paused || held.Total == 0:
		return ""
	}
	return fmt.Sprintf(": a write of %s that was released before has no answer yet, as one that waits in a webhook: the next one is released after it", held.Controller)
}

// askHeldWrites returns the held writes after the end of ctx. It asks for a shorter time after an interrupt, as the user
// wants to end the command.
func (s *stepCommand) askHeldWrites(ctx context.Context, interventions control.Interventions) (control.HeldWriteList, error) {
	timeout := interventionsTimeout
	if errors.Is(ctx.Err(), context.Canceled) {
		timeout /= 10
	}
	asked, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	held, err := interventions.HeldWrites(asked, s.name, 0)
	if asked.Err() != nil {
		err = errors.New(s.target.noAnswerHint())
	}
	return held, err
}

// stepOrWait releases the next write. If none is held it waits for one, and says so
// unless said is set. The result is nil if it has waited for some time.
func (s *stepCommand) stepOrWait(ctx context.Context, interventions control.Interventions, errs io.Writer, said *bool) (*control.SteppedWrite, error) {
	held, err := interventions.HeldWrites(ctx, s.name, 1)
	if err != nil {
		return nil, err
	}
	if held.Paused && held.Total == 0 && !*said {
		*said = true
		fmt.Fprintf(errs, "ctrlplane: no write of %s is held: waiting for its next write; Ctrl-C stops waiting\n", held.Controller)
	}
	return interventions.Step(ctx, s.name)
}

func (s *stepCommand) printStep(out io.Writer, mode ui.Mode, done *control.SteppedWrite) error {
	switch s.output.format {
	case outputJSON:
		text, err := json.Marshal(done)
		if err == nil {
			_, err = fmt.Fprintf(out, "%s\n", words.EscapeJSON(text))
		}
		return err
	case outputYAML:
		if _, err := io.WriteString(out, "---\n"); err != nil {
			return err
		}
		_, err := s.output.writeObject(out, done)
		return err
	}
	diff, err := objectdiff.Unified(done)
	if err != nil {
		return err
	}
	outcome := words.OneLine(done.String()) + ": " + words.OneLine(done.Outcome()) + "\n"
	if diff == "" {
		_, err = io.WriteString(out, outcome+explainNoDiff(done))
		return err
	}
	_, err = io.WriteString(out, mode.ColorDiff(cleanDiff(diff))+outcome) // a new object fills the terminal: what is said last stays in it
	return err
}

// cleanDiff makes a diff of objects safe for a terminal.
func cleanDiff(diff string) string { return strings.Join(words.Lines(diff), "\n") + "\n" }

// explainNoDiff says why there is no diff.
func explainNoDiff(done *control.SteppedWrite) string {
	switch {
	case done.UnknownReason != "":
		return "(what it changed is not known: " + words.OneLine(done.UnknownReason) + ")\n"
	case done.Status > 0 && done.Status < http.StatusBadRequest:
		return "(no change)\n"
	}
	return ""
}
