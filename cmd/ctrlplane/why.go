package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/internal/usage"
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
does, which controllers fail for it, and which operators do not run; of a Pod or
its owner, which of its programs are not simulated. With --from, a recording explains it,
without its control plane: that has no objects, but warnings of Events, and what was
paused or stopped.`,
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

func (o *traceFlags) runWhy(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	src, about, records, err := o.loadRecords(ctx, cmd.CommandPath(), args)
	if err != nil {
		return err
	}
	if err := o.options.ReadFailing(ctx, src, records, about); err != nil {
		return err
	}
	o.options.AtEnd = o.past.given() && o.past.at == ""
	o.options.WhyDeleted, o.options.WhyChanged = o.commandFor("why", args, "--deleted"), o.commandFor("why", args, "--changed")
	question := ui.Why{
		About: about, Options: o.options, State: src.describeNow(ctx, about),
		Describe:       func(of observe.Object) ui.ObjectState { return src.describeNow(ctx, of) },
		Trace:          "\"" + o.commandFor("trace", args) + "\"",
		ExplainMissing: func(err error) error { return src.explainMissing(ctx, about, err) },
		NameFields:     func(loops []assert.HotLoop) { src.nameFields(ctx, loops) },
	}
	question.BeforeDeletion = o.describeBeforeDeletion(ctx, src, about, records)
	return writeTrace(cmd, o.format(), func(out io.Writer) error {
		var said strings.Builder
		err := question.Write(io.MultiWriter(out, &said), records, o.format(), traceStyle())
		if live, isLive := src.(liveSource); isLive && o.format() == trace.Text {
			err = errors.Join(err, writeWebhooks(ctx, out, live.cfg, said.String()))
		}
		return err
	})
}

// describeBeforeDeletion says what was wrong with an object that does not exist at the end of a recording, before its deletion
// began: tests often delete what has failed.
func (o *traceFlags) describeBeforeDeletion(ctx context.Context, src traceSource, about observe.Object, records []observe.Record) []string {
	end, isRecorded := src.(*recordedSource)
	if !isRecorded || !o.options.AtEnd || o.options.What == trace.Deleted {
		return nil
	}
	deleted, ok := trace.DeletionBegan(records, about)
	if !ok {
		return nil
	}
	before := end.recording.At(end.recording.Seek(deleted.Add(-1)))
	earlier := ui.Why{About: about, State: ui.ObjectState{Recorded: true}}
	records, err := earlier.Options.ReadRecords(ctx, before)
	if err == nil {
		err = earlier.Options.ReadFailing(ctx, before, records, about)
	}
	if err != nil {
		return nil
	}
	return earlier.DescribeBeforeDeletion(records, traceStyle())
}

// commandFor returns the command that says more about the object that the arguments name.
func (o *traceFlags) commandFor(verb string, args []string, flags ...string) string {
	s := strings.Join(append([]string{verb, quoteWord(strings.Join(args, "/"))}, flags...), " ")
	if o.namespace != "default" && !o.target.inLessonNamespace(o.namespace) {
		s += " -n " + o.namespace
	}
	if o.past.given() {
		s += " --from " + quoteWord(o.past.path)
	}
	if o.past.at != "" {
		s += " --at " + quoteWord(o.past.at)
	}
	return o.target.commandLine(s)
}
