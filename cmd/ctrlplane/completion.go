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
	"github.com/ctrlplane/ctrlplane/ui/explain"
	"github.com/ctrlplane/ctrlplane/ui/learn"
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
	for path, complete := range map[string]cobra.CompletionFunc{
		"down":   c.many(c.planes(running)),
		"delete": c.many(c.planes(nil)),
		"logs":   c.first(c.planes(nil)),

		"controllers pause": c.many(c.controllers(state("running"))), "controllers resume": c.many(c.controllers(state("paused"))),
		"controllers step": c.first(c.controllers(state("paused"))), "controllers held": c.first(c.controllers(state("paused"))),
		"controllers delay": c.many(c.controllers(all)), "controllers fail": c.many(c.controllers(all)),
		"controllers clear": c.many(c.controllers(all)), "controllers scale": c.many(c.controllers(state("running", "paused"))),
		"controllers stop": c.many(c.controllers(state("running", "paused"))), "controllers start": c.many(c.controllers(state("off", "failed"))),

		"clients pause": c.many(c.clients(clientIs("running"))), "clients resume": c.many(c.clients(clientIs("paused"))),
		"clients step": c.first(c.clients(clientIs("paused"))), "clients held": c.first(c.clients(clientIs("paused"))),
		"clients delay": c.many(c.clients(nil)), "clients fail": c.many(c.clients(nil)), "clients clear": c.many(c.clients(nil)),

		"nodes remove": c.many(c.nodes), "nodes fail": c.many(c.nodes), "nodes recover": c.many(c.nodes), "nodes terminate": c.many(c.nodes),

		"snapshot restore": c.first(listSnapshots), "snapshot delete": c.many(listSnapshots), "snapshot diff": c.many(listSnapshots),

		"trace": c.object(1), "why": c.object(1), "wait": c.object(-1),

		"explain": c.many(listPages),
		"learn":   completeLesson,
		"kubectl": c.kubectl,
	} {
		if verb, _, err := root.Find(strings.Fields(path)); err == nil {
			verb.ValidArgsFunction = complete
		}
	}
	eachCommand(root, func(cmd *cobra.Command) { c.addToFlags(cmd) })
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
		"from":       listSnapshots,
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
		c.addToFlag(cmd, name, values)
	}
	if f := cmd.Flags().Lookup(outputFlagName); f != nil {
		if own, ok := f.Value.(*outputFlag); ok {
			c.addToFlag(cmd, outputFlagName, fixed(own.formats...))
		}
	}
}

func (c completer) addToFlag(cmd *cobra.Command, name string, values lister) {
	if f := cmd.LocalFlags().Lookup(name); f == nil || cmd.HasParent() && cmd.InheritedFlags().Lookup(name) != nil {
		return
	}
	// It fails if the command completes the flag itself.
	_ = cmd.RegisterFlagCompletionFunc(name, func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return c.suggest(cmd, values, nil, prefix)
	})
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

func (c completer) planes(keep func(plane) bool) lister {
	return func(context.Context) (names []string) {
		list, err := allPlanes()
		if err != nil {
			return nil
		}
		for _, p := range list {
			if p.Name != "" && !slices.Contains(names, p.Name) && (keep == nil || keep(p)) {
				names = append(names, p.Name)
			}
		}
		return names
	}
}

func (c completer) controllers(keep func(control.Controller) bool) lister {
	return func(ctx context.Context) (names []string) {
		list, err := listControllers(ctx, c.target)
		if err != nil {
			return nil
		}
		for _, controller := range list {
			if keep(controller) {
				names = append(names, controller.Name)
			}
		}
		return names
	}
}

// actors lists the controllers and the clients.
func (c completer) actors(ctx context.Context) []string {
	all := c.controllers(func(control.Controller) bool { return true })
	return append(all(ctx), c.clients(nil)(ctx)...)
}

func clientIs(state string) func(observe.Client) bool {
	return func(c observe.Client) bool { return c.State == state }
}

// clients lists the programs, and with their user those that have several clients.
func (c completer) clients(keep func(observe.Client) bool) lister {
	return func(ctx context.Context) (names []string) {
		client, err := c.target.controlClient()
		if err != nil {
			return nil
		}
		list, err := client.Clients(ctx)
		if err != nil {
			return nil
		}
		program := func(c observe.Client) string {
			name, _, _ := strings.Cut(c.Name, " (")
			return name
		}
		users := map[string]int{} // by program
		for _, c := range list {
			users[program(c)]++
		}
		for _, c := range list {
			name := c.Name
			if users[program(c)] == 1 {
				name = program(c)
			}
			if keep == nil || keep(c) {
				names = append(names, name)
			}
		}
		return names
	}
}

func (c completer) nodes(ctx context.Context) (names []string) {
	client, err := c.target.controlClient()
	if err != nil {
		return nil
	}
	list, err := client.List(ctx)
	if err != nil {
		return nil
	}
	for _, n := range list {
		names = append(names, n.Name)
	}
	return names
}

func listSnapshots(context.Context) (names []string) {
	store, err := snapshot.UserStore()
	if err != nil {
		return nil
	}
	list, err := store.List()
	if err != nil {
		return nil
	}
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

func listPages(context.Context) (names []string) {
	for _, p := range explain.Pages() {
		names = append(names, p.ShortName())
	}
	return names
}

// completeLesson completes a number with the lesson's title, or a file.
func completeLesson(_ *cobra.Command, args []string, prefix string) (found []string, _ cobra.ShellCompDirective) {
	lessons, err := learn.All()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, lesson := range lessons {
		number, _, _ := strings.Cut(lesson.Name, "-")
		number = strings.TrimLeft(number, "0")
		for _, name := range []string{number, lesson.Name} {
			if strings.HasPrefix(name, prefix) {
				found = append(found, cobra.CompletionWithDesc(name, lesson.Title))
				break
			}
		}
	}
	if len(found) == 0 {
		return []string{"md"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return found, cobra.ShellCompDirectiveNoFileComp
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

func (c completer) namespaces(context.Context) []string {
	factory, err := c.kubectlFactory("")
	if err != nil {
		return nil
	}
	return kubectlcompletion.CompGetResource(factory, "namespaces", "")
}

// resources lists all resources as RESOURCE or RESOURCE.GROUP.
func (c completer) resources(ctx context.Context) []string {
	factory, err := c.kubectlFactory("")
	if err != nil {
		return nil
	}
	cmd := &cobra.Command{}
	cmd.SetContext(ctx)
	names, _ := kubectlcompletion.ResourceTypeAndNameCompletionFunc(factory)(cmd, nil, "")
	return names
}
