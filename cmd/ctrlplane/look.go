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

// look is a way to watch a control plane: what --ui says.
type look string

const (
	lookLive  look = "live"  // the full-screen view
	lookPlain look = "plain" // a line an event worth knowing
	lookJSON  look = "json"  // everything, an object a line
	lookNone  look = "none"
)

const lookHelp = "what to show: auto, plain, json or none; auto is the live view on a terminal, else plain"

// lookOf is what --ui means here: the live view needs a terminal on both sides.
func lookOf(flag string) (look, error) {
	switch l := look(flag); l {
	case lookPlain, lookJSON, lookNone:
		return l, nil
	case "auto":
		if term.IsTerminal(int(os.Stdin.Fd())) && ui.Detect(os.Stdout, os.Environ()).Live {
			return lookLive, nil
		}
		return lookPlain, nil
	}
	return "", usage.Errorf("--ui: %q is not known: use auto, plain, json or none", flag)
}

// at watches a source until ctx ends or the user leaves the live view, and
// tells what is then to become of the control plane. after is the record to
// begin behind.
func (l look) at(ctx context.Context, src observe.Source, after uint64, o live.Options) (live.Leave, error) {
	switch l {
	case lookLive:
		o.In, o.Out, o.Environ, o.Source, o.Purpose = os.Stdin, os.Stdout, os.Environ(), src, explain.Purpose
		return live.Run(ctx, o)
	case lookPlain, lookJSON:
		return live.Stop, ui.Follow(ctx, os.Stdout, src, ui.FollowOptions{JSON: l == lookJSON, After: after})
	}
	<-ctx.Done()
	return live.Stop, nil
}
