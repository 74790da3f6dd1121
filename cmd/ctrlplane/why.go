package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe/trace"
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
does. With --from, a recording explains it, without its control plane.`,
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
	return cmd
}

func (o *traceCommand) runWhy(cmd *cobra.Command, args []string) error {
	src, about, page, err := o.loadRecords(cmd.Context(), cmd.CommandPath(), args)
	if err != nil {
		return err
	}
	o.options.Now = src.describeNow(cmd.Context(), about)
	o.options.WhyDeleted, o.options.WhyChanged = o.whyCommand(args, "--deleted"), o.whyCommand(args, "--changed")
	chain, err := trace.Why(page.Records, about, o.options)
	if err != nil {
		return errors.Join(o.writeNow(cmd.OutOrStdout()), explainNoRecords(cmd.Context(), src, about, err))
	}
	return chain.Write(cmd.OutOrStdout(), o.format(), traceStyle())
}

// writeNow writes what is wrong with an object that has no records.
func (o *traceCommand) writeNow(out io.Writer) error {
	if o.options.Now == "" || o.format() != trace.Text {
		return nil
	}
	_, err := fmt.Fprintln(out, strings.Join(words.Wrap(words.OneLine(o.options.Now), traceStyle().Width), "\n"))
	return err
}

// whyCommand returns the command that explains the change that a flag names of the object that
// the arguments name.
func (o *traceCommand) whyCommand(args []string, flag string) string {
	s := "why " + strings.Join(args, "/") + " " + flag
	if o.namespace != "default" {
		s += " -n " + o.namespace
	}
	if o.past.given() {
		s += " --from " + quoteWord(o.past.path)
	}
	return o.target.commandLine(s)
}
