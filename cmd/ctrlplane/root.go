package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ctrlplane/ctrlplane/internal/suggest"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

func newRootCommand(t *target) *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use:   "ctrlplane",
		Short: "Run a Kubernetes control plane in one process",
		Long: `Run etcd, the Kubernetes API server and all controllers of the controller
manager in one process, without containers, downloads or network access, and
watch what they do.`,
		Example: `  ctrlplane up                         start a control plane, or the same one again
  ctrlplane up -d                      start it in the background
  ctrlplane up --ephemeral             start one that leaves nothing behind
  ctrlplane kubectl get namespaces     use it, from another shell
  ctrlplane top                        watch the work queues of all controllers
  ctrlplane trace deployment/web       show what a Deployment set off
  ctrlplane dev -- go run .            develop an operator: run it again at each change
  ctrlplane learn 1                    take the first lesson`,
		Args: rejectUnknownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return printVersion(cmd.OutOrStdout())
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			t.acceptContextName()
			return rejectInvalidFlags(cmd)
		},
		SilenceErrors:    true,
		SilenceUsage:     true,
		TraverseChildren: true,
	}
	cobra.EnableCommandSorting = false // the groups have an order of their own
	hideGlobalFlags()
	root.Flags().BoolVar(&showVersion, "version", false, "print the version")
	t.addFlags(root)
	root.SetFlagErrorFunc(wrapFlagError)
	addGroup(root, "start", "Start, stop and manage:", newUpCommand(t), newRunCommand(t), newDevCommand(t),
		newDownCommand(t), newListCommand(t), newLogsCommand(t), newDeleteCommand(t), newChildCommand(t))
	addGroup(root, "use", "Use it as a cluster:", newKubectlCommand(t), newKubeconfigCommand(t), newWaitCommand(t), newReconcileCommand(t))
	addGroup(root, "look", "Watch it:", newTopCommand(t), newStatusCommand(t))
	addGroup(root, "why", "Find out why:", newTraceCommand(t), newWhyCommand(t))
	addGroup(root, "intervene", "Intervene:", newControllersCommand(t), newClientsCommand(t), newNodesCommand(t))
	addGroup(root, "state", "Save and restore its state:", newSnapshotCommand(t), newResetCommand(t))
	addGroup(root, "learn", "Learn:", newExplainCommand(t), newLearnCommand(t))
	addGroup(root, "other", "Other:", newVersionCommand())
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 100"))
	root.SetHelpCommandGroupID("other")
	root.SetCompletionCommandGroupID("other")
	root.AddCommand(newManCommand())
	rejectUnknownTopics(root)
	rejectLines(root)
	addCompletions(root, t)
	return root
}

// addGroup adds verbs to a command, under a heading of its help.
func addGroup(cmd *cobra.Command, id, title string, verbs ...*cobra.Command) {
	cmd.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, v := range verbs {
		v.GroupID = id
	}
	cmd.AddCommand(verbs...)
}

// hideGlobalFlags hides the flags that Kubernetes' packages register for the whole
// process, such as their --version: cobra adds them to every command.
func hideGlobalFlags() {
	pflag.CommandLine.VisitAll(func(f *pflag.Flag) { f.Hidden = true })
}

func rejectInvalidFlags(cmd *cobra.Command) error {
	if err := rejectGlobalFlags(cmd); err != nil {
		return err
	}
	return rejectEmptyFlags(cmd)
}

// rejectGlobalFlags fails for a flag that only Kubernetes' packages know.
func rejectGlobalFlags(cmd *cobra.Command) (err error) {
	pflag.CommandLine.VisitAll(func(f *pflag.Flag) {
		if f.Changed && cmd.Flags().Lookup(f.Name) == f && err == nil {
			err = wrapFlagError(cmd, fmt.Errorf("unknown flag: --%s", f.Name))
		}
	})
	return err
}

// rejectUnknownTopics makes cobra's own verbs fail for an argument that they would ignore.
func rejectUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Example = "  ctrlplane help up\n  ctrlplane help snapshot restore"
			c.Args = func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				if err != nil || found.DisableFlagParsing { // kubectl has a help of its own
					return err
				}
				return rejectUnknownVerb(found, rest)
			}
		case "completion":
			c.Short, c.Long = "Print a script that completes command lines in a shell", completionHelp
			addCompletionExamples(c)
			c.Args = rejectUnknownVerb
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

const completionHelp = `Print a script that completes verbs, flags, and the names of control planes,
controllers, nodes, snapshots, lessons, kinds and objects. To complete them, put the line
of your shell where it reads it when it starts. In bash it needs the package
bash-completion.`

// completionLines are the lines that turn completion on, with the files that they belong in.
var completionLines = []struct{ shell, file, line string }{
	{"bash", "~/.bashrc", "source <(ctrlplane completion bash)"},
	{"zsh", "~/.zshrc", "autoload -Uz compinit; compinit; source <(ctrlplane completion zsh)"},
	{"fish", "~/.config/fish/config.fish", "ctrlplane completion fish | source"},
	{"powershell", "$PROFILE (PowerShell)", "ctrlplane completion powershell | Out-String | Invoke-Expression"},
}

// addCompletionExamples adds to "completion" the lines of all shells, and to the verb of each shell its own.
func addCompletionExamples(completion *cobra.Command) {
	var all []string
	for _, l := range completionLines {
		all = append(all, fmt.Sprintf("  %-28s %s", l.file, l.line))
		if verb, _, err := completion.Find([]string{l.shell}); err == nil {
			verb.Example = "  " + l.line
		}
	}
	completion.Example = strings.Join(all, "\n")
}

func rejectUnknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := fmt.Sprintf(`see "%s --help"`, cmd.CommandPath())
	if meant := meantVerbs(cmd, args); len(meant) > 0 {
		hint = fmt.Sprintf("did you mean %s?", strings.Join(meant, " or "))
	}
	if args[0] == "restart" && !cmd.HasParent() {
		hint = `use "down" and then "up"`
	}
	return usage.Errorf("unknown verb %q: %s", args[0], hint)
}

// otherTools are verbs of kind, k3d, minikube and kubectl, and what they are here.
var otherTools = map[string][]string{
	"cluster": {"up"}, "create": {"up"}, "start": {"up"}, "serve": {"up"}, "launch": {"up"},
	"clusters": {"list"}, "profile": {"list"}, "remove": {"delete", "nodes remove"}, "destroy": {"delete"},
	"dashboard": {"top"}, "ui": {"top"}, "config": {"kubeconfig"}, "unpause": {"controllers resume"},
	"exec": {"run", "kubectl exec"}, "describe": {"kubectl describe"}, "get": {"kubectl get"}, "apply": {"kubectl apply"},
	"edit": {"kubectl edit"}, "patch": {"kubectl patch"}, "rollout": {"kubectl rollout"}, "label": {"kubectl label"},
	"expose": {"kubectl expose"}, "drain": {"kubectl drain"}, "cordon": {"kubectl cordon"}, "port-forward": {"kubectl port-forward"},
}

// destructiveVerbs delete data that does not come back. They are suggested for another name
// that they have elsewhere, but never for a word that only resembles them.
var destructiveVerbs = []string{"delete", "remove", "reset", "restore", "terminate"}

// meantVerbs returns the quoted verbs that a wrong one probably stands for: of this
// command, of one below it, or of another tool.
func meantVerbs(cmd *cobra.Command, args []string) []string {
	paths := map[string][]string{} // by name
	for _, c := range cmd.Commands() {
		if c.Hidden {
			continue
		}
		paths[c.Name()] = append(paths[c.Name()], c.Name())
		for _, below := range c.Commands() {
			if !below.Hidden && c.Name() != "completion" {
				paths[below.Name()] = append(paths[below.Name()], c.Name()+" "+below.Name())
			}
		}
	}
	word := args[0]
	found := paths[word]
	if own, ok := otherTools[word]; !cmd.HasParent() && ok {
		found = own
	}
	for _, verb := range destructiveVerbs {
		delete(paths, verb)
	}
	if near, ok := suggest.Nearest(word, slices.Sorted(maps.Keys(paths))); found == nil && ok {
		found = paths[near]
	}
	quoted := make([]string, len(found))
	for i, path := range found {
		quoted[i] = strconv.Quote(path)
	}
	return quoted
}

func rejectArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usage.Errorf(`%s takes no arguments, got %q: see "%s --help"`, cmd.CommandPath(), args[0], cmd.CommandPath())
}
