package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/sim/nodes"
)

func newNodesCommand(t *target) *cobra.Command {
	output := newListOutput()
	cmd := &cobra.Command{
		Use:   "nodes",
		Short: "List the simulated nodes; add, remove, fail, recover and terminate them",
		Long: `List or change the simulated nodes of a running control plane. "up --nodes" sets how
many there are from the start.

A failed node sends no heartbeats: node-lifecycle-controller marks it as unknown, and
its Pods are evicted and recreated on other nodes, unless no node is left that is Ready.
A terminated node also loses its machine at the simulated cloud provider: once
node-lifecycle-controller has marked it, cloud-node-lifecycle-controller finds that the
machine does not exist and deletes the node.`,
		Example: `  ctrlplane nodes
  ctrlplane nodes -o name
  ctrlplane nodes add 3
  ctrlplane nodes fail node-2
  ctrlplane nodes recover node-2
  ctrlplane nodes terminate node-2
  ctrlplane nodes remove node-2 node-3`,
		Args: rejectUnknownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return listNodes(cmd, t, output) },
	}
	output.add(cmd)
	addGroup(cmd, "list", "List, add and remove:", newListVerb(t, "nodes", "List the nodes with their state, capacity and number of Pods", listNodes), newNodesAdd(t),
		newNodesVerb(t, "remove", "Delete nodes; their Pods are recreated on other nodes", control.Nodes.Remove))
	addGroup(cmd, "fail", "Inject failures:",
		newNodesVerb(t, "fail", "Stop the heartbeats of nodes", control.Nodes.Fail),
		newNodesVerb(t, "recover", "Resume the heartbeats of failed nodes", control.Nodes.Recover),
		newNodesVerb(t, "terminate", "Terminate the machines of nodes, as a cloud provider does", control.Nodes.Terminate))
	return cmd
}

func newNodesAdd(t *target) *cobra.Command {
	return &cobra.Command{
		Use:     "add [N]",
		Short:   "Add N nodes, 1 by default",
		Example: "  ctrlplane nodes add 3",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage.Errorf("nodes add takes one number, got %q: leave out all but one", args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			n := 1
			if len(args) > 0 {
				var err error
				if n, err = strconv.Atoi(args[0]); err != nil || n < 1 {
					return usage.Errorf("nodes add: %q is not a number of nodes: use 1 or more", args[0])
				}
				if n > nodes.MaxCount {
					return usage.Errorf("nodes add: %d nodes: at most %d can be simulated", n, nodes.MaxCount)
				}
			}
			client, err := t.toChange().controlClient()
			if err != nil {
				return err
			}
			names, err := client.Nodes().Add(cmd.Context(), n)
			for _, name := range names {
				fmt.Fprintf(cmd.OutOrStdout(), "%s added\n", name)
			}
			return err
		},
	}
}

func newNodesVerb(t *target, verb, short string, do func(control.Nodes, context.Context, ...string) error) *cobra.Command {
	return &cobra.Command{
		Use:     verb + " NAME…",
		Short:   short,
		Example: "  ctrlplane nodes " + verb + " node-2",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage.Errorf(`nodes %s: missing node name: "ctrlplane nodes" lists them`, verb)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := t.toChange().controlClient()
			if err != nil {
				return err
			}
			before, err := client.Nodes().List(cmd.Context())
			if err != nil {
				return err
			}
			names := slices.Compact(slices.Sorted(slices.Values(args)))
			if err := do(client.Nodes(), cmd.Context(), names...); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", pastTense[verb], describeChanged(verb, names, before))
			return err
		},
	}
}

// pastTense has the past tense of the verbs.
var pastTense = map[string]string{"remove": "removed", "fail": "failed", "recover": "recovered", "terminate": "terminated"}

// unchangedNodes says which nodes a verb does not change, and why.
var unchangedNodes = map[string]struct {
	is  func(control.Node) bool
	why string
}{
	"fail":      {func(n control.Node) bool { return n.Failed }, "failed already"},
	"recover":   {func(n control.Node) bool { return !n.Failed }, "not failed"},
	"terminate": {func(n control.Node) bool { return n.Terminated }, "terminated already"},
}

// describeChanged names the nodes that a verb has changed, or says why there is none. before are all nodes as they were.
func describeChanged(verb string, names []string, before []control.Node) string {
	unchanged, ok := unchangedNodes[verb]
	changed := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return ok && slices.ContainsFunc(before, func(n control.Node) bool { return n.Name == name && unchanged.is(n) })
	})
	if len(changed) == 0 {
		return fmt.Sprintf("none (%s: %s)", strings.Join(names, ", "), unchanged.why)
	}
	return strings.Join(changed, ", ")
}

func listNodes(cmd *cobra.Command, t *target, output *outputFlag) error {
	client, err := t.controlClient()
	if err != nil {
		return err
	}
	list, err := client.Nodes().List(cmd.Context())
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if done, err := writeList(output, out, control.NodeList{Items: list}, list, func(n control.Node) string { return n.Name }); done {
		return err
	}
	return printNodes(out, list)
}

func printNodes(out io.Writer, list []control.Node) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tREADY\tSTATE\tPODS\tCPU\tMEMORY\tPOD CIDR\tZONE\tAGE")
	for _, n := range list {
		var state []string
		for _, s := range []struct {
			name string
			is   bool
		}{{"terminated", n.Terminated}, {"failed", n.Failed}, {"cordoned", n.Unschedulable}, {"being deleted", n.Deleting}, {"created manually", !n.Own}} {
			if s.is {
				state = append(state, s.name)
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d/%d\t%s\t%s\t%s\t%s\t%s\n", n.Name, n.Ready, strings.Join(state, ", "), n.Pods, n.MaxPods,
			n.CPU, n.Memory, n.PodCIDR, n.Zone, duration.HumanDuration(time.Since(n.Created)))
	}
	return w.Flush()
}
