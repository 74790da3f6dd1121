package main

import (
	"context"
	"io"
	"slices"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/ui/explain"
)

// serveLessonPage serves a page that shows the controllers of lessons, and prints its link.
func serveLessonPage(out io.Writer, cfg *rest.Config, list []chosenLesson) (*webPage, error) {
	client, err := controlrest.NewClient(cfg)
	if err != nil {
		return nil, err
	}
	src, err := newViewSource(client, nil, client.Interventions(), client.ClientInterventions(), client.SpeedControl(), cfg)
	if err != nil {
		return nil, err
	}
	page := pageSource{
		viewSource: src, speed: client.SpeedControl(), focus: focusOf(list),
		facts: func(ctx context.Context) (explain.Facts, error) { return factsOf(ctx, cfg) },
	}
	return startPage(out, webFlags{on: true, quiet: true}, page.options())
}

// focusOf returns the names of the controllers that lessons are about.
func focusOf(list []chosenLesson) (focus []string) {
	aliases := map[string][]string{}
	for _, c := range ctrlplane.Controllers() {
		aliases[c.Name] = c.Aliases
	}
	names := explain.NewNames(aliases)
	for _, lesson := range list {
		for _, name := range lesson.ControllerNames() {
			if full, _, ok := names.Resolve(name); ok {
				focus = append(focus, full)
			}
		}
	}
	slices.Sort(focus)
	return slices.Compact(focus)
}
