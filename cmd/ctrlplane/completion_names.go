package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	kubectlcompletion "k8s.io/kubectl/pkg/util/completion"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui/explain"
	"github.com/ctrlplane/ctrlplane/ui/learn"
)

func (c completer) planes(keep func(plane) bool) lister {
	return func(context.Context) (names []string) {
		list, _ := allPlanes() // what there is
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
		users := map[string]int{} // by program
		for _, c := range list {
			users[observe.ProgramOf(c.Name)]++
		}
		for _, c := range list {
			name := c.Name
			if users[observe.ProgramOf(c.Name)] == 1 {
				name = observe.ProgramOf(c.Name)
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
	list, err := client.Nodes().List(ctx)
	if err != nil {
		return nil
	}
	for _, n := range list {
		names = append(names, n.Name)
	}
	return names
}

func listSnapshots(ctx context.Context) (names []string) {
	store := snapshot.UserStore()
	list, err := store.List(ctx)
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
