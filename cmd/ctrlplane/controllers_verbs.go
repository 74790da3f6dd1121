package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// addControllersVerbs adds the verbs that intervene in running controllers.
func addControllersVerbs(cmd *cobra.Command, t *target) {
	addInterventionVerbs(cmd, t, controllerActors)
	addGroup(cmd, "run", "Start, stop, scale and slow down:",
		newInterventionVerb(t, controllerActors, control.Stop, "stopped", "Stop controllers with their workers, handlers and queues; held writes fail"),
		newInterventionVerb(t, controllerActors, control.Start, "started", "Start stopped controllers again"),
		newControllersScale(t), newControllersSpeed(t))
	remove := newInterventionVerb(t, controllerActors, control.Remove, "removed", "Remove controllers of operators that have ended from all lists")
	remove.Long = `Remove controllers of operators whose process has ended from all lists, with the
interventions in them. Their records remain, for trace and why. If the process is started
again, they are listed again.

--all leaves out one whose process has not reported for 10 s, without closing its
connection: it may be suspended, as by a debugger. Removed by name, its writes are not
held when it continues.`
	remove.Example = `  ctrlplane controllers remove operator/shop
  ctrlplane controllers remove --all`
	addGroup(cmd, "ended", "Remove:", remove)
}

// addInterventionVerbs adds the verbs that controllers and clients have in common.
func addInterventionVerbs(cmd *cobra.Command, t *target, a actors) {
	pause := "Hold the writes of controllers; they keep reading, and their queues keep filling"
	if a.ofClients {
		pause = "Hold the writes of clients; they keep reading and watching"
	}
	addGroup(cmd, "writes", "Hold writes:",
		newInterventionVerb(t, a, control.Pause, "paused", pause),
		newStepCommand(t, a), newHeldCommand(t, a),
		newInterventionVerb(t, a, control.Resume, "resumed", "Release held writes and resume"))
	addGroup(cmd, "faults", "Inject faults:", newDelayCommand(t, a), newFailCommand(t, a),
		newInterventionVerb(t, a, control.Clear, "cleared", "Remove delays and faults"))
}

func newInterventionVerb(t *target, a actors, verb, past, short string) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   verb + " NAME…",
		Short: short,
		Example: fmt.Sprintf(`  ctrlplane %[1]s %[2]s %[3]s
  ctrlplane %[1]s %[2]s %[4]s
  ctrlplane %[1]s %[2]s --all`, a.plural, verb, a.examples[0], a.examples[1]),
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := a.parseNames(verb, args, all)
			if err != nil {
				return err
			}
			return runIntervention(cmd, t, a, past, names, control.Change{Verb: verb})
		},
	}
	addAllFlag(cmd, a, &all)
	return cmd
}

func addAllFlag(cmd *cobra.Command, a actors, all *bool) {
	cmd.Flags().BoolVar(all, "all", false, "all "+a.plural+" to which it can apply")
}

// unchanged says why a verb has changed no controller or client.
var unchanged = map[string]string{
	control.Pause: "paused already", control.Resume: "not paused", control.Clear: "without a delay or fault",
	control.Stop: "not running", control.Start: "running already", control.Remove: "its process has been started again",
}

// runIntervention makes a change, and prints which controllers or clients have changed, after the past tense of its verb.
func runIntervention(cmd *cobra.Command, t *target, a actors, past string, names []string, c control.Change) error {
	client, err := t.toChange().controlClient()
	if err != nil {
		return err
	}
	done, err := a.interventions(client).Change(cmd.Context(), names, c)
	if err != nil {
		return err
	}
	text := strings.Join(done, ", ")
	if why := unchanged[c.Verb]; text == "" && why != "" && !slices.Contains(names, control.All) {
		text = fmt.Sprintf("none (%s: %s)", strings.Join(names, ", "), why)
	}
	text = cmp.Or(text, "none")
	if _, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", past, text); err != nil || !a.ofClients || slices.Contains(names, control.All) {
		return err
	}
	return hintAtSiblings(cmd, t, client, names, done)
}

func newDelayCommand(t *target, a actors) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "delay NAME… DURATION",
		Short: "Delay each API call of " + a.plural,
		Example: fmt.Sprintf(`  ctrlplane %[1]s delay %[2]s 2s
  ctrlplane %[1]s clear %[2]s`, a.plural, a.examples[0]),
		RunE: func(cmd *cobra.Command, args []string) error {
			names, d, err := a.parseDelay(args, all)
			if err != nil {
				return err
			}
			return runIntervention(cmd, t, a, "delayed by "+d.String(), names, control.Change{Verb: control.Delay, Delay: d})
		},
	}
	addAllFlag(cmd, a, &all)
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
			names, err := controllerActors.parseNames("scale", args, false)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("workers") {
				return usage.Errorf("controllers scale: missing number of workers: use --workers 3")
			}
			if workers < 1 {
				return usage.Errorf("--workers %d: not a number of workers: use 1 or more", workers)
			}
			return runIntervention(cmd, t, controllerActors, "scaled to "+words.Count(workers, "worker"), names, control.Change{Verb: control.Scale, Workers: workers})
		},
	}
	cmd.Flags().IntVar(&workers, "workers", 0, "number of workers of each queue")
	return cmd
}

func newFailCommand(t *target, a actors) *cobra.Command {
	var all bool
	var f control.Fault
	open := ""
	if a.ofClients {
		open = ` With
--verb watch, or --code 410, open watches end, too, with an event of that error: a
client that gets 410 has to list again.`
	}
	cmd := &cobra.Command{
		Use:   "fail NAME…",
		Short: "Make API calls of " + a.plural + " fail",
		Long: fmt.Sprintf(`Make API calls of %[1]s fail, to see how the %[1]s retry. The API server
does not execute a call that is made to fail. Conflicts (409) only
apply to writes, expired versions (410) to lists and watches. A Lease
is read and renewed as usual, so that its holder does not end: to fail
that, too, use --resource leases. A lock in a ConfigMap or in Endpoints
is not spared.%[2]s`, a.plural, open),
		Example: fmt.Sprintf(`  ctrlplane %[1]s fail %[2]s
  ctrlplane %[1]s fail %[2]s --rate 0.3 --code 409 --verb update
  ctrlplane %[1]s fail %[2]s --code timeout --resource pods
  ctrlplane %[1]s fail %[2]s --code 410 --verb watch
  ctrlplane %[1]s clear --all`, a.plural, a.examples[0]),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := intervene.ValidateFault(f); err != nil {
				return err
			}
			names, err := a.parseNames("fail", args, all)
			if err != nil {
				return err
			}
			return runIntervention(cmd, t, a, "fault injected ("+f.String()+")", names, control.Change{Verb: control.Fail, Fault: f})
		},
	}
	addAllFlag(cmd, a, &all)
	flags := cmd.Flags()
	flags.Float64Var(&f.Rate, "rate", 1, "fraction of the calls to fail, more than 0 and at most 1")
	flags.StringVar(&f.Code, "code", "500", "how they fail: "+strings.Join(control.FaultCodes, ", "))
	flags.StringVar(&f.Verb, "verb", "", "fail only calls with this verb, as in RBAC")
	flags.StringVar(&f.Resource, "resource", "", "fail only calls for this resource, such as pods or deployments.apps, or subresource, such as deployments/scale")
	return cmd
}
