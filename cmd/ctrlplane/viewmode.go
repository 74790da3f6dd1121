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

// viewMode is how a control plane is shown: the value of --ui.
type viewMode string

const (
	viewLive  viewMode = "live"  // the full-screen view
	viewPlain viewMode = "plain" // one line per notable event
	viewJSON  viewMode = "json"  // all records, one JSON object per line
	viewNone  viewMode = "none"
)

const uiFlagHelp = "what to show: auto, plain, json or none; auto is the live view on a terminal, otherwise plain"

const themeFlagHelp = "colours of the live view: auto, light, dark or mono; auto follows the background of the terminal"

// checkTheme returns a usage error for an unknown value of --theme.
func checkTheme(name string) error {
	if err := live.CheckTheme(name); err != nil {
		return usage.Errorf("--theme: %w", err)
	}
	return nil
}

// parseViewMode parses --ui. The live view needs a terminal as input and output.
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
	return "", usage.Errorf("--ui: unknown mode %q: use auto, plain, json or none", flag)
}

// showSource shows a source until ctx ends or the user leaves the live view, and returns
// what to do with the control plane then. It begins after the record with the number
// after. Without the live view it writes to o.Out.
func (l viewMode) showSource(ctx context.Context, src observe.Source, after uint64, o live.Options) (live.Leave, error) {
	switch l {
	case viewLive:
		o.In, o.Out, o.Environ, o.Source, o.Purpose = os.Stdin, os.Stdout, os.Environ(), src, explain.Purpose
		return live.Run(ctx, o)
	case viewPlain:
		return live.Stop, ui.Follow(ctx, src, after, ui.NewPlainWriter(o.Out, src))
	case viewJSON:
		return live.Stop, ui.Follow(ctx, src, after, ui.NewJSONWriter(o.Out))
	}
	<-ctx.Done()
	return live.Stop, nil
}
