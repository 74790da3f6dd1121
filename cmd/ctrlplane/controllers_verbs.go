package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/internal/cliargs"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/ui/explain"
)

// controllersAction is a method expression of control.Interventions, or a function like it.
type controllersAction func(i control.Interventions, ctx context.Context, names []string) ([]string, error)

// addControllersVerbs adds the verbs that intervene in running controllers.
func addControllersVerbs(cmd *cobra.Command, t *target) {
	addGroup(cmd, "writes", "Hold writes:",
		newControllersVerb(t, "pause", "paused", "Hold the writes of controllers; they keep reading, and their queues keep filling", control.Interventions.Pause),
		newControllersStep(t), newControllersHeld(t),
		newControllersVerb(t, "resume", "resumed", "Release held writes and resume", control.Interventions.Resume))
	addGroup(cmd, "faults", "Inject faults:", newControllersDelay(t), newControllersFail(t),
		newControllersVerb(t, "clear", "cleared", "Remove delays and faults", control.Interventions.Clear))
	cmd.AddCommand(formerControllersRestore(t))
	addGroup(cmd, "run", "Start, stop and scale:",
		newControllersVerb(t, "stop", "stopped", "Stop controllers with their workers, handlers and queues; held writes fail", control.Interventions.Stop),
		newControllersVerb(t, "start", "started", "Start stopped controllers again", control.Interventions.Start),
		newControllersScale(t))
}

// formerControllersRestore is clear by its former name, which scripts may use.
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
	cmd.Flags().BoolVar(all, "all", false, "all controllers to which it can apply")
}

// parseControllerNames returns the names in the arguments, with kubectl's short names
// replaced.
func parseControllerNames(verb string, args []string, all bool) ([]string, error) {
	names, err := cliargs.ControllerNames(verb, args, all)
	expandShortNames(names)
	return names, err
}

func expandShortNames(names []string) {
	for i, name := range names {
		names[i] = explain.ExpandShortName(name)
	}
}

// unchanged says why an action has changed no controller.
var unchanged = map[string]string{
	"paused": "paused already", "resumed": "not paused", "cleared": "without a delay or fault",
	"stopped": "not running", "started": "running already",
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
	if why := unchanged[past]; text == "" && why != "" && !slices.Contains(names, control.AllControllers) {
		text = fmt.Sprintf("none (%s: %s)", strings.Join(names, ", "), why)
	}
	text = cmp.Or(text, "none")
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", past, text)
	return err
}

func newControllersDelay(t *target) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "delay NAME… DURATION",
		Short: "Delay each API call of controllers",
		Example: `  ctrlplane controllers delay deployment 2s
  ctrlplane controllers clear deployment`,
		RunE: func(cmd *cobra.Command, args []string) error {
			names, d, err := cliargs.Delay(args, all)
			expandShortNames(names)
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
		Short: "Restart controllers with another number of workers",
		Long: `Restart controllers with another number of workers, as upstream's flags
--concurrent-…-syncs set it. Controllers without such a flag cannot be scaled.
Delays, faults and pauses remain; the held writes of a paused controller fail, and
the controller retries them. The number applies until the control plane stops.`,
		Example: `  ctrlplane controllers scale replicaset --workers 1
  ctrlplane controllers scale replicaset deployment --workers 20`,
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := parseControllerNames("scale", args, false)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("workers") {
				return usage.Errorf("controllers scale: missing number of workers: use --workers 3")
			}
			if workers < 1 {
				return usage.Errorf("--workers %d: not a number of workers: use 1 or more", workers)
			}
			return runControllersAction(cmd, t, "scaled", names, func(i control.Interventions, ctx context.Context, names []string) ([]string, error) {
				return i.Scale(ctx, names, workers)
			})
		},
	}
	cmd.Flags().IntVar(&workers, "workers", 0, "number of workers of each queue")
	return cmd
}

func newControllersFail(t *target) *cobra.Command {
	var all bool
	var f control.Fault
	cmd := &cobra.Command{
		Use:   "fail NAME…",
		Short: "Make API calls of controllers fail",
		Long: `Make API calls of controllers fail, to see how the controllers retry. The API server
does not execute a call that is made to fail. Conflicts (409) only apply to writes.`,
		Example: `  ctrlplane controllers fail replicaset
  ctrlplane controllers fail replicaset --rate 0.3 --code 409 --verb update
  ctrlplane controllers fail job --code timeout --resource pods
  ctrlplane controllers clear --all`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := intervene.ValidateFault(f); err != nil {
				return err
			}
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
	flags.Float64Var(&f.Rate, "rate", 1, "fraction of the calls to fail, from 0 to 1")
	flags.StringVar(&f.Code, "code", "500", "how they fail: "+strings.Join(control.FaultCodes, ", "))
	flags.StringVar(&f.Verb, "verb", "", "fail only calls with this verb, as in RBAC")
	flags.StringVar(&f.Resource, "resource", "", "fail only calls for this resource, such as pods or deployments.apps")
	return cmd
}
