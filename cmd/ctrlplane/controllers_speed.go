package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/control"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// nextKey is the argument that releases one key.
const nextKey = "next"

func newControllersSpeed(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "speed [1 | 1/2 | 1/5 | 1/10 | step | next]",
		Short: "Slow down all controllers, the scheduler and the simulated kubelets",
		Long: `Show or set how fast all controllers, the scheduler and the simulated kubelets work.

A worker that takes a key from its queue waits before it works on the key: 50 ms at
1/2, 200 ms at 1/5, 450 ms at 1/10. The key counts as in flight meanwhile. A kubelet
waits before each write for a Pod. With "step" every key waits until "speed next"
releases the one that has waited longest.

Clients, event handlers, leases, node heartbeats and the API server's own
controllers are not slowed down. The speed applies until it is set again or the
control plane stops.`,
		Example: `  ctrlplane controllers speed
  ctrlplane controllers speed 1/10
  ctrlplane controllers speed step
  ctrlplane controllers speed next
  ctrlplane controllers speed 1`,
		ValidArgs: append(speedArgs(), nextKey),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage.Errorf("controllers speed takes one speed, got %q: leave out all but one", args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				t.toChange()
			}
			client, err := t.controlClient()
			if err != nil {
				return err
			}
			switch out := cmd.OutOrStdout(); {
			case len(args) == 0:
				return printSpeed(cmd.Context(), out, client)
			case args[0] == nextKey:
				return releaseKey(cmd.Context(), out, cmd.ErrOrStderr(), client, client.SpeedControl())
			default:
				speed := observe.Speed(strings.TrimSuffix(args[0], "x"))
				if err := client.SpeedControl().SetSpeed(cmd.Context(), speed); err != nil {
					return err
				}
				_, err := fmt.Fprintf(out, "speed: %s\n", speed)
				return err
			}
		},
	}
}

func speedArgs() (names []string) {
	for _, s := range observe.Speeds {
		names = append(names, string(s))
	}
	return names
}

func printSpeed(ctx context.Context, out io.Writer, client *controlrest.Client) error {
	s, err := client.Snapshot(ctx)
	if err != nil {
		return err
	}
	if s.Process.Speed == "" {
		return errors.New("the speed cannot be set: the control plane observes nothing: start it without --observe-records=-1")
	}
	_, err = fmt.Fprintf(out, "speed: %s\n", s.Process.Speed)
	return err
}

func releaseKey(ctx context.Context, out, errs io.Writer, src observe.Source, speed control.SpeedControl) error {
	if s, err := src.Snapshot(ctx); err == nil && s.Process.Speed == observe.SpeedStep && !hasWaitingKey(s) {
		fmt.Fprintln(errs, "ctrlplane: no key waits: waiting for the next one; Ctrl-C stops waiting")
	}
	key, err := speed.StepKey(ctx)
	if err != nil {
		return err
	}
	if key == nil {
		return fmt.Errorf("no key has waited within %v: all queues are empty", control.StepTimeout)
	}
	name := key.Key
	if name == "" {
		name = "a key that is not known"
	}
	_, err = fmt.Fprintln(out, words.OneLine(fmt.Sprintf("released: %s (queue %s) works on %s", key.Controller, key.Queue, name)))
	return err
}

// hasWaitingKey reports whether a key waits because of the speed.
func hasWaitingKey(s observe.Snapshot) bool {
	for _, c := range s.Controllers {
		if slices.ContainsFunc(c.Running, func(r observe.RunningSync) bool { return r.Waits }) {
			return true
		}
	}
	return false
}
