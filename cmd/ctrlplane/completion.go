package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	kubectlcompletion "k8s.io/kubectl/pkg/util/completion"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui/live"
)

// completionTimeout bounds a request for completions: a shell waits for them.
const completionTimeout = 2 * time.Second

// completer suggests values to the shell. What cannot be found out has no suggestions:
// there is no place for an error.
type completer struct{ target *target }

// lister lists the values that an argument or a flag can have.
type lister func(ctx context.Context) []string

// addCompletions adds the completion of arguments and flags to all verbs.
func addCompletions(root *cobra.Command, t *target) {
	c := completer{t}
	running := func(p plane) bool { return p.isUp() }
	all := func(control.Controller) bool { return true }
	state := func(want ...string) func(control.Controller) bool {
		return func(c control.Controller) bool { return slices.Contains(want, c.State) }
	}
	hasEnded := func(c control.Controller) bool {
		return (&observe.Controller{Name: c.Name, State: c.State, Process: c.Process}).HasEnded()
	}
	for path, complete := range map[string]cobra.CompletionFunc{
		"down":   c.many(c.planes(running)),
		"delete": c.many(c.planes(nil)),
		"logs":   c.first(c.planes(nil)),

		"controllers pause":  c.many(c.controllers(state(observe.StateRunning))),
		"controllers resume": c.many(c.controllers(state(observe.StatePaused))),
		"controllers step":   c.first(c.controllers(state(observe.StatePaused))),
		"controllers held":   c.first(c.controllers(state(observe.StatePaused))),
		"controllers delay":  c.many(c.controllers(all)),
		"controllers fail":   c.many(c.controllers(all)),
		"controllers clear":  c.many(c.controllers(all)),
		"controllers scale":  c.many(c.controllers(state(observe.StateRunning, observe.StatePaused))),
		"controllers stop":   c.many(c.controllers(state(observe.StateRunning, observe.StatePaused))),
		"controllers start":  c.many(c.controllers(state(observe.StateOff, observe.StateFailed))),
		"controllers remove": c.many(c.controllers(hasEnded)),

		"clients pause":  c.many(c.clients(clientIs(observe.StateRunning))),
		"clients resume": c.many(c.clients(clientIs(observe.StatePaused))),
		"clients step":   c.first(c.clients(clientIs(observe.StatePaused))),
		"clients held":   c.first(c.clients(clientIs(observe.StatePaused))),
		"clients delay":  c.many(c.clients(nil)),
		"clients fail":   c.many(c.clients(nil)),
		"clients clear":  c.many(c.clients(nil)),
		"clients roles":  c.many(c.clients(nil)),

		"nodes remove": c.many(c.nodes), "nodes fail": c.many(c.nodes), "nodes recover": c.many(c.nodes), "nodes terminate": c.many(c.nodes),

		"snapshot restore": orFile(c.first(listSnapshots)),
		"snapshot delete":  c.many(listSnapshots),
		"snapshot diff":    orFile(c.many(listSnapshots)),
		"snapshot save":    orFile(cobra.NoFileCompletions),

		"trace": c.object(1), "why": c.object(1), "wait": c.object(-1),

		"explain": c.many(listPages),
		"learn":   completeLesson,
		"kubectl": c.kubectl,
	} {
		findVerb(root, path).ValidArgsFunction = complete
	}
	eachCommand(root, func(cmd *cobra.Command) { c.addToFlags(cmd) })
}

// findVerb returns the command with that path. It panics if there is none: [cobra.Command.Find] returns the command above then.
func findVerb(root *cobra.Command, path string) *cobra.Command {
	verb, rest, err := root.Find(strings.Fields(path))
	if err != nil || len(rest) > 0 {
		panic("completion of an unknown verb: " + path)
	}
	return verb
}

func eachCommand(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, below := range cmd.Commands() {
		eachCommand(below, do)
	}
}

// addToFlags completes the flags of a command, and no files as its arguments.
func (c completer) addToFlags(cmd *cobra.Command) {
	if cmd.ValidArgsFunction == nil && cmd.Name() != "run" && cmd.Name() != "dev" {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for name, values := range map[string]lister{
		"name":       c.planes(nil),
		"namespace":  c.namespaces,
		"controller": c.actors,
		"resource":   c.resources,
		"ui":         fixed("auto", "plain", "json", "none"),
		"theme":      fixed(live.Themes...),
		"log-level":  fixed("debug", "info", "warn", "error"),
		"log-format": fixed("text", "json"),
		"code":       fixed(control.FaultCodes...),
		"verb":       fixed("get", "list", "watch", "create", "update", "patch", "delete"),
		"until":      fixed("settled"),
		"kubernetes": fixed(ctrlplane.KubernetesVersions()...),
	} {
		addToFlag(cmd, name, c.value(values))
	}
	addToFlag(cmd, "from", orFile(c.value(listSnapshots)))
	if f := cmd.Flags().Lookup(outputFlagName); f != nil {
		if own, ok := f.Value.(*outputFlag); ok {
			addToFlag(cmd, outputFlagName, c.value(fixed(own.formats...)))
		}
	}
}

func addToFlag(cmd *cobra.Command, name string, complete cobra.CompletionFunc) {
	if f := cmd.LocalFlags().Lookup(name); f == nil || cmd.HasParent() && cmd.InheritedFlags().Lookup(name) != nil {
		return
	}
	_ = cmd.RegisterFlagCompletionFunc(name, complete) // it fails if the command completes the flag itself
}

// value completes the value of a flag.
func (c completer) value(values lister) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return c.suggest(cmd, values, nil, prefix)
	}
}

func fixed(values ...string) lister { return func(context.Context) []string { return values } }

// many completes any number of arguments, each value once; first only one.
func (c completer) many(values lister) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return c.suggest(cmd, values, args, prefix)
	}
}

func (c completer) first(values lister) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.suggest(cmd, values, nil, prefix)
	}
}

// orFile completes the path of a file where one is begun.
func orFile(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if snapshot.IsPath(prefix) {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return complete(cmd, args, prefix)
	}
}

// suggest returns the values that begin with the prefix and are not among the arguments.
func (c completer) suggest(cmd *cobra.Command, values lister, args []string, prefix string) (found []string, _ cobra.ShellCompDirective) {
	c.prepare()
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	for _, v := range values(ctx) {
		if strings.HasPrefix(v, prefix) && !slices.Contains(args, v) {
			found = append(found, v)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// prepare does what is done before a verb runs.
func (c completer) prepare() {
	c.target.acceptContextName()
	c.target.quiet = true
}

// kubectlFactory gives kubectl's completion access to the running control plane.
func (c completer) kubectlFactory(namespace string) (cmdutil.Factory, error) {
	flags := genericclioptions.NewConfigFlags(true)
	if _, err := c.target.useKubeconfig(flags); err != nil {
		return nil, err
	}
	timeout := completionTimeout.String()
	flags.Timeout = &timeout
	if namespace != "" {
		flags.Namespace = &namespace
	}
	return cmdutil.NewFactory(flags), nil
}

// object completes objects as KIND NAME or KIND/NAME, at most the given number if it is
// not negative.
func (c completer) object(limit int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		c.prepare()
		namespace := ""
		if f := cmd.Flags().Lookup("namespace"); f != nil {
			namespace = f.Value.String()
		}
		full := len(args) > 0 && strings.Contains(args[0], "/")
		if limit >= 0 && (full && len(args) >= limit || len(args) > limit) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		factory, err := c.kubectlFactory(namespace)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return kubectlcompletion.ResourceTypeAndNameCompletionFunc(factory)(cmd, args, prefix)
	}
}
