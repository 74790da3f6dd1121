package main

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
	"github.com/ctrlplane/ctrlplane/ui"
)

func newWhyCommand(t *target) *cobra.Command {
	o := newTraceFlags(t)
	var changed, deleted bool
	cmd := &cobra.Command{
		Use:   "why KIND/NAME | KIND NAME",
		Short: "Show what led to an object, to its last change or to its deletion",
		Long: `Show the chain of causes that led to an object, latest first: the call that created
it, the sync that made the call, the event that queued the key, the call that
caused the event, and so on, back to the first cause. For an object that is older
than the records, show what led to its last change. Causes that are likely, but not
certain, are marked. Of an object that is not healthy it also says why, as "ctrlplane wait"
does, and which controllers fail for it. With --from, a recording explains it, without
its control plane.`,
		Example: `  ctrlplane why pod/web-7d4b9c6f5-x2x9k
  ctrlplane why pod web-7d4b9c6f5-x2x9k --deleted
  ctrlplane why deployment/web -n shop --changed -o mermaid
  ctrlplane why pod web-7d4b9c6f5-x2x9k --from out/ --at 12:30:05`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case changed && deleted:
				return usage.Errorf("--changed and --deleted exclude each other: use one of them")
			case changed:
				o.options.What = trace.Changed
			case deleted:
				o.options.What = trace.Deleted
			}
			return o.runWhy(cmd, args)
		},
	}
	o.addFlags(cmd)
	cmd.Flags().BoolVar(&changed, "changed", false, "show what led to its last change")
	cmd.Flags().BoolVar(&deleted, "deleted", false, "show what led to its deletion")
	cmd.Flags().BoolVar(&o.options.All, "all", false, "also show every attempt and every round of a loop")
	return cmd
}

func (o *traceCommand) runWhy(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	src, about, page, err := o.loadRecords(ctx, cmd.CommandPath(), args)
	if err != nil {
		return err
	}
	now := o.options.State
	state := src.describeNow(ctx, about)
	o.options.Now, o.options.Failing = state.problem, describeFailingKeys(now, page.Records, about)
	o.options.Working = trace.Working(now, page.Records, about, traceStyle())
	o.options.WhyDeleted, o.options.WhyChanged = o.commandFor("why", args, "--deleted"), o.commandFor("why", args, "--changed")
	chain, err := trace.Why(page.Records, about, o.options)
	if err == nil {
		return chain.Write(cmd.OutOrStdout(), o.format(), traceStyle())
	}
	err = explainNoRecords(ctx, src, about, err)
	if o.format() != trace.Text {
		return err
	}
	said := slices.Concat([]string{o.options.Now}, o.options.Failing, o.options.Working)
	if o.answersWith(state) {
		said, err = append(said, o.sayUnknown(args, err)), nil
	}
	return errors.Join(writeSentences(cmd.OutOrStdout(), said), err)
}

// answersWith reports whether the state of an object answers the question, though no record does.
func (o *traceCommand) answersWith(state objectState) bool {
	if o.options.What == trace.Deleted {
		return state.deleting
	}
	return state.exists && (state.problem != "" || len(o.options.Failing) > 0 || len(o.options.Working) > 0)
}

// sayUnknown says why the causes of an object are not known.
func (o *traceCommand) sayUnknown(args []string, err error) string {
	unknown := new(trace.UnknownChangeError)
	if !errors.As(err, &unknown) {
		return err.Error() + "."
	}
	return unknown.Sentence(traceStyle()) + " \"" + o.commandFor("trace", args) + "\" shows what is recorded."
}

// describeFailingKeys says which keys of an object fail, as "ctrlplane status" does.
func describeFailingKeys(now observe.Snapshot, records []observe.Record, about observe.Object) (list []string) {
	for _, f := range trace.FailingKeys(now, records, about) {
		if ui.IsFailing(f.FailingKey, now.Process.Settled) {
			list = append(list, f.Sentence())
		}
	}
	return list
}

// writeSentences writes what is known of an object without a chain of causes.
func writeSentences(out io.Writer, sentences []string) error {
	var text strings.Builder
	for _, s := range sentences {
		if s != "" {
			text.WriteString(strings.Join(words.Wrap(words.OneLine(s), traceStyle().Width), "\n") + "\n")
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// commandFor returns the command that says more about the object that the arguments name.
func (o *traceCommand) commandFor(verb string, args []string, flags ...string) string {
	s := strings.Join(append([]string{verb, quoteWord(strings.Join(args, "/"))}, flags...), " ")
	if o.namespace != "default" {
		s += " -n " + o.namespace
	}
	if o.past.given() {
		s += " --from " + quoteWord(o.past.path)
	}
	return o.target.commandLine(s)
}
