package main

import (
	"context"
	"os"

	"golang.org/x/term"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
	"github.com/ctrlplane/ctrlplane/ui/explain"
	"github.com/ctrlplane/ctrlplane/ui/live"
)

// viewMode is a way to watch a control plane: what --ui says.
type viewMode string

const (
	viewLive  viewMode = "live"  // the full-screen view
	viewPlain viewMode = "plain" // a line an event worth knowing
	viewJSON  viewMode = "json"  // everything, an object a line
	viewNone  viewMode = "none"
)

const uiFlagHelp = "what to show: auto, plain, json or none; auto is the live view on a terminal, else plain"

// parseViewMode is what --ui means here: the live view needs a terminal on both sides.
func parseViewMode(flag string) (viewMode, error) {
	switch l := viewMode(flag); l {
	case viewPlain, viewJSON, viewNone:
		return l, nil
	case "auto":
		if term.IsTerminal(int(os.Stdin.Fd())) && ui.Detect(os.Stdout, os.Environ()).Live {
			return viewLive, nil
		}
		return viewPlain, nil
	}
	return "", usage.Errorf("--ui: %q is not known: use auto, plain, json or none", flag)
}

// show watches a source until ctx ends or the user leaves the live view, and
// tells what is then to become of the control plane. after is the record to
// begin behind.
func (l viewMode) show(ctx context.Context, src observe.Source, after uint64, o live.Options) (live.Leave, error) {
	switch l {
	case viewLive:
		o.In, o.Out, o.Environ, o.Source, o.Purpose = os.Stdin, os.Stdout, os.Environ(), src, explain.Purpose
		return live.Run(ctx, o)
	case viewPlain, viewJSON:
		return live.Stop, ui.Follow(ctx, os.Stdout, src, ui.FollowOptions{JSON: l == viewJSON, After: after})
	}
	<-ctx.Done()
	return live.Stop, nil
}
