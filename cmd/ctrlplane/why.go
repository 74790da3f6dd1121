package main

import (
	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

func newWhyCommand(t *target) *cobra.Command {
	o := &traceCommand{target: t}
	var changed, deleted bool
	cmd := &cobra.Command{
		Use:   "why KIND/NAME | KIND NAME",
		Short: "Show what led to an object, to its last change or to its end",
		Long: `Show the chain of causes that led to an object, the latest first: the call that
made it, the sync that made the call, the event that its key was queued for, the
call that made that event, and so on to where it began. Of an object that is
older than the records it is the last change. What is likely, not certain, is
marked.`,
		Example: `  ctrlplane why pod/web-7d4b9c6f5-x2x9k
  ctrlplane why pod web-7d4b9c6f5-x2x9k --deleted
  ctrlplane why deployment/web -n shop --changed -o mermaid`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case changed && deleted:
				return usage.Errorf("--changed and --deleted ask for two things: use one of them")
			case changed:
				o.options.What = trace.Changed
			case deleted:
				o.options.What = trace.Deleted
			}
			return o.runWhy(cmd, args)
		},
	}
	o.addFlags(cmd)
	cmd.Flags().BoolVar(&changed, "changed", false, "what led to its last change")
	cmd.Flags().BoolVar(&deleted, "deleted", false, "what led to its end")
	return cmd
}

func (o *traceCommand) runWhy(cmd *cobra.Command, args []string) error {
	format, err := trace.ParseFormat(o.output)
	if err != nil {
		return usage.Errorf("--output: %w", err)
	}
	_, about, page, err := o.loadRecords(cmd.Context(), cmd.CommandPath(), args)
	if err != nil {
		return err
	}
	chain, err := trace.Why(page.Records, about, o.options)
	if err != nil {
		return err
	}
	return chain.Write(cmd.OutOrStdout(), format, traceStyle())
}
