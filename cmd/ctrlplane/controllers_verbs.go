package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// controllersAction is a method expression of control.Interventions, or a function like it.
type controllersAction func(i control.Interventions, ctx context.Context, names []string) ([]string, error)

// newControllersVerbs are what can be done to controllers that run.
func newControllersVerbs(t *target) []*cobra.Command {
	return []*cobra.Command{
		newControllersVerb(t, "stop", "stopped", "End controllers: workers, handlers, queues; what they have held is refused", control.Interventions.Stop),
		newControllersVerb(t, "start", "started", "Build and run controllers again that were stopped", control.Interventions.Start),
		newControllersVerb(t, "pause", "paused", "Hold what controllers write; they go on reading, their queues on filling", control.Interventions.Pause),
		newControllersVerb(t, "resume", "resumed", "Let go what paused controllers have held", control.Interventions.Resume),
		newControllersVerb(t, "clear", "cleared", "Remove delays and faults", control.Interventions.Clear),
		formerControllersRestore(t),
		newControllersDelay(t), newControllersFail(t), newControllersScale(t), newControllersStep(t), newControllersHeld(t),
	}
}

// formerControllersRestore is the former name of clear, which scripts may use.
func formerControllersRestore(t *target) *cobra.Command {
	cmd := newControllersVerb(t, "restore", "cleared", "Remove delays and faults", control.Interventions.Clear)
	cmd.Hidden = true
	return cmd
}

func newControllersVerb(t *target, verb, past, short string, do controllersAction) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   verb + " NAME…",
		Short: short,
		Example: fmt.Sprintf(`  ctrlplane controllers %[1]s replicaset
  ctrlplane controllers %[1]s job-controller cronjob
  ctrlplane controllers %[1]s --all`, verb),
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := parseControllerNames(verb, args, all)
			if err != nil {
				return err
			}
			return runControllersAction(cmd, t, past, names, do)
		},
	}
	addAllFlag(cmd, &all)
	return cmd
}

func addAllFlag(cmd *cobra.Command, all *bool) {
	cmd.Flags().BoolVar(all, "all", false, "all controllers for which it makes sense")
}

// parseControllerNames returns the names in the arguments, which may have commas.
func parseControllerNames(verb string, args []string, all bool) ([]string, error) {
	switch {
	case all && len(args) > 0:
		return nil, usage.Errorf("controllers %s: name controllers or use --all, not both", verb)
	case all:
		return []string{control.AllControllers}, nil
	case len(args) == 0 || slices.Contains(args, ""):
		return nil, usage.Errorf(`controllers %s: say which: "ctrlplane controllers" lists them`, verb)
	case strings.ContainsAny(strings.Join(args, ""), "/?#%*"):
		return nil, usage.Errorf(`controllers %s: %q: "ctrlplane controllers" lists what there is`, verb, args)
	}
	return strings.Split(strings.Join(args, ","), ","), nil
}

func runControllersAction(cmd *cobra.Command, t *target, past string, names []string, do controllersAction) error {
	client, err := t.controlClient()
	if err != nil {
		return err
	}
	done, err := do(client.Interventions(), cmd.Context(), names)
	if err != nil {
		return err
	}
	text := strings.Join(done, ", ")
	if text == "" {
		text = "none"
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", past, text)
	return err
}

func newControllersDelay(t *target) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "delay NAME… DURATION",
		Short: "Make each API call of controllers wait",
		Example: `  ctrlplane controllers delay deployment 2s
  ctrlplane controllers clear deployment`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage.Errorf("controllers delay: say which, and how long: 500ms, 2s")
			}
			last := len(args) - 1
			d, err := time.ParseDuration(args[last])
			if err != nil {
				return usage.Errorf("controllers delay: %q is not a duration: write 500ms or 2s after the names", args[last])
			}
			names, err := parseControllerNames("delay", args[:last], all)
			if err != nil {
				return err
			}
			return runControllersAction(cmd, t, "delayed by "+d.String(), names, func(i control.Interventions, ctx context.Context, names []string) ([]string, error) {
				return i.Delay(ctx, names, d)
			})
		},
	}
	addAllFlag(cmd, &all)
	return cmd
}

func newControllersScale(t *target) *cobra.Command {
	var workers int
	cmd := &cobra.Command{
		Use:   "scale NAME… --workers N",
		Short: "Run controllers with another number of workers, where upstream has a flag for it",
		Long: `End controllers and begin them anew with another number of workers, as upstream's
--concurrent-…-syncs would have it. Those that upstream has no such flag for are
refused. A delay, a fault or a pause stays; what a paused one has held is
refused, and comes again. It lasts until the control plane ends.`,
		Example: `  ctrlplane controllers scale replicaset --workers 1
  ctrlplane controllers scale replicaset deployment --workers 20`,
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := parseControllerNames("scale", args, false)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("workers") {
				return usage.Errorf("controllers scale: say how many: --workers 3")
			}
			return runControllersAction(cmd, t, "scaled", names, func(i control.Interventions, ctx context.Context, names []string) ([]string, error) {
				return i.Scale(ctx, names, workers)
			})
		},
	}
	cmd.Flags().IntVar(&workers, "workers", 0, "how many keys each queue is to be worked on at a time")
	return cmd
}

func newControllersFail(t *target) *cobra.Command {
	var all bool
	var f control.Fault
	cmd := &cobra.Command{
		Use:   "fail NAME…",
		Short: "Make API calls of controllers fail",
		Long: `Make API calls of controllers fail, to see how they retry. They are answered by
ctrlplane, and are not carried out. A conflict (409) is met by writes only.`,
		Example: `  ctrlplane controllers fail replicaset --rate 0.3 --code 409 --verb update
  ctrlplane controllers fail job --code timeout --resource pods
  ctrlplane controllers clear --all`,
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := parseControllerNames("fail", args, all)
			if err != nil {
				return err
			}
			return runControllersAction(cmd, t, "failing", names, func(i control.Interventions, ctx context.Context, names []string) ([]string, error) {
				return i.Fail(ctx, names, f)
			})
		},
	}
	addAllFlag(cmd, &all)
	flags := cmd.Flags()
	flags.Float64Var(&f.Rate, "rate", 1, "how many of them, from 0 to 1")
	flags.StringVar(&f.Code, "code", "500", "how: "+strings.Join(control.FaultCodes, ", "))
	flags.StringVar(&f.Verb, "verb", "", "only calls with this verb, as in RBAC")
	flags.StringVar(&f.Resource, "resource", "", "only calls for this resource: pods, or deployments.apps")
	return cmd
}
