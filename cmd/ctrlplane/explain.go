package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"
	rbac "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/controllers"
	"github.com/ctrlplane/ctrlplane/internal/suggest"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
	"github.com/ctrlplane/ctrlplane/ui/explain"
)

func newExplainCommand(t *target) *cobra.Command {
	output := newListOutput()
	cmd := &cobra.Command{
		Use:   "explain [NAME...]",
		Short: "Describe how a controller works: what it watches, how it decides, how it fails",
		Long: `Describe controllers: their purpose, what they watch and write, their queues and
keys, how they decide, their flags with the current values, their permissions, what
their failures look like, and where their source code is.

Observed facts come from the running control plane; without one they are left out.
Aliases are accepted, and so are names without "-controller" and kubectl's short
names, such as rs. Controllers of an operator that reports them have a shorter page.
Without a name, list all controllers.`,
		Example: `  ctrlplane explain
  ctrlplane explain replicaset
  ctrlplane explain namespace garbagecollector -o yaml
  ctrlplane explain kube-scheduler | less`,
		RunE: func(cmd *cobra.Command, args []string) error {
			aliases := map[string][]string{}
			for _, c := range ctrlplane.Controllers() {
				aliases[c.Name] = c.Aliases
			}
			if len(args) == 0 {
				return writeControllerList(cmd, aliases, output)
			}
			k, err := gatherFacts(cmd.Context(), t)
			if err != nil {
				return err
			}
			pages, err := findPages(t, args, explain.NewNames(aliases), k.Snapshot)
			if err != nil {
				return err
			}
			k.Aliases = aliases
			return writeEntries(cmd, pages, k, output)
		},
	}
	output.add(cmd)
	return cmd
}

// findPages returns the pages for the names, each once: those of built-in controllers, and
// of controllers that clients report.
func findPages(t *target, words []string, names explain.Names, s *observe.Snapshot) (pages []explain.Page, err error) {
	seen := map[string]bool{}
	for _, word := range words {
		name, nearest, ok := names.Resolve(word)
		if page, reported := explain.ReportedPage(s, word); !ok && reported {
			if !seen[page.Name] {
				pages = append(pages, page)
				seen[page.Name] = true
			}
			continue
		}
		if !ok {
			return nil, unknownPageError(t, word, nearest, s)
		}
		if page, ok := explain.FindPage(name); ok && !seen[name] {
			pages = append(pages, page)
			seen[name] = true
		}
	}
	return pages, nil
}

// unknownPageError says what was probably meant: a client, the fields of a kind, or a controller.
func unknownPageError(t *target, word, nearest string, s *observe.Snapshot) error {
	hint := fmt.Sprintf("%s lists them", t.quoteCommand("explain"))
	if observe.IsReported(word) {
		nearest, _ = suggest.Nearest(word, reportedControllers(s))
	}
	switch {
	case isClient(s, word):
		hint = fmt.Sprintf("it is a client that reports no controllers: %s says what it does, docs/operators.md how to report them", t.quoteCommand("clients"))
	case isBuiltInKind(word):
		hint = fmt.Sprintf("%s explains the fields of that kind", t.quoteCommand("kubectl explain "+word))
	case nearest != "":
		hint = fmt.Sprintf("did you mean %q?", nearest)
	}
	return usage.Errorf("unknown controller %q: %s", word, hint)
}

// reportedControllers returns the names of the controllers that clients report.
func reportedControllers(s *observe.Snapshot) (names []string) {
	if s == nil {
		return nil
	}
	for _, c := range s.Clients {
		names = append(names, c.Controllers...)
	}
	return names
}

// isClient reports whether a name is that of a client or its program.
func isClient(s *observe.Snapshot, name string) bool {
	return s != nil && slices.ContainsFunc(s.Clients, func(c observe.Client) bool { return c.Name == name || observe.ProgramOf(c.Name) == name })
}

// gatherFacts asks the running control plane. If none is named and none is running,
// flags have their default values, and nothing else is known.
func gatherFacts(ctx context.Context, t *target) (k explain.Facts, err error) {
	cfg, err := t.restConfig()
	if errors.As(err, new(notRunningError)) && !t.named() {
		k.Versions = moduleVersions()
		k.Flags, err = controllers.DefaultFlags()
		return k, err
	}
	if err != nil {
		return k, err
	}
	return factsOf(ctx, cfg)
}

// factsOf asks the control plane that cfg gives access to.
func factsOf(ctx context.Context, cfg *rest.Config) (k explain.Facts, err error) {
	k.Versions = moduleVersions()
	client, err := controlrest.NewClient(cfg)
	if err != nil {
		return k, err
	}
	s, err := client.Snapshot(ctx)
	if err != nil {
		return k, err
	}
	k.Snapshot = &s
	if k.Flags, err = client.Flags(ctx); err != nil {
		return k, err
	}
	roles, err := rbac.NewForConfig(cfg)
	if err != nil {
		return k, err
	}
	k.RBAC, err = explain.ReadRBAC(ctx, roles)
	return k, err
}

// moduleVersions maps the linked modules to their versions.
func moduleVersions() map[string]string {
	versions := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			versions[m.Path] = m.Version
		}
	}
	return versions
}

func writeEntries(cmd *cobra.Command, pages []explain.Page, k explain.Facts, output *outputFlag) error {
	var entries []explain.Entry
	for _, p := range pages {
		entries = append(entries, p.NewEntry(k))
	}
	out := cmd.OutOrStdout()
	list := map[string][]explain.Entry{"items": entries}
	if done, err := writeList(output, out, list, entries, func(e explain.Entry) string { return e.Name }); done {
		return err
	}
	for i, e := range entries {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := e.Write(out, explainStyle()); err != nil {
			return err
		}
	}
	return nil
}

func writeControllerList(cmd *cobra.Command, aliases map[string][]string, output *outputFlag) error {
	out, items := cmd.OutOrStdout(), explain.List(aliases)
	list := map[string]any{"items": items}
	if done, err := writeList(output, out, list, items, func(i explain.ListItem) string { return i.Name }); done {
		return err
	}
	return explain.WriteList(out, explainStyle())
}

func explainStyle() explain.Style {
	m := ui.Detect(os.Stdout, os.Environ())
	s := explain.Style{Color: m.Color, ASCII: m.ASCII, Program: programWord()}
	if m.Width != nil {
		s.Width = m.Width()
	}
	return s
}
