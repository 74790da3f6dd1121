package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// downCommand has the flags of "ctrlplane down".
type downCommand struct {
	target  *target
	all     bool
	timeout time.Duration
}

func newDownCommand(t *target) *cobra.Command {
	d := &downCommand{target: t}
	cmd := &cobra.Command{
		Use:     "down [NAME…]",
		Aliases: []string{"stop"},
		Short:   "Stop control planes; their data stays",
		Long: `Stop control planes, in the background or in another terminal, and return when they
have ended. Their data stays, and "ctrlplane up" starts them again; ephemeral ones are
removed. Without a name, stop the default control plane, also if KUBECONFIG is that of
another one.

--all does not stop control planes of a run or a test. The command of a run cannot stop
the control plane of that run.`,
		Example: `  ctrlplane down
  ctrlplane down demo
  ctrlplane down --all`,
		Args: func(_ *cobra.Command, args []string) error {
			if d.timeout <= 0 {
				return usage.Errorf("--timeout: %v is not positive: use one such as 30s, or leave the flag out", d.timeout)
			}
			return checkPlaneArgs("down", t, d.all, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := d.choose(args)
			if err != nil {
				return err
			}
			for _, p := range chosen {
				if err := p.rejectStop(); err != nil {
					return err
				}
			}
			return d.stopEach(cmd.Context(), cmd.OutOrStdout(), chosen)
		},
	}
	cmd.Flags().BoolVar(&d.all, "all", false, "stop all that are running")
	cmd.Flags().DurationVar(&d.timeout, "timeout", time.Minute, "how long each may take to stop")
	return cmd
}

// checkPlaneArgs rejects more than one way to choose control planes.
func checkPlaneArgs(verb string, t *target, all bool, args []string) error {
	switch {
	case all && (len(args) > 0 || t.named()):
		return usage.Errorf("%s: --all excludes names, --name and --data-dir: use one of them", verb)
	case len(args) > 0 && t.named():
		return usage.Errorf("%s: names exclude --name and --data-dir: leave the flag out: %q", verb, "ctrlplane "+verb+" "+strings.Join(args, " "))
	}
	for _, name := range args {
		if err := datadir.ValidateName(name); err != nil {
			return usage.Errorf("%s: %w", verb, err)
		}
	}
	return nil
}

// findPlanes finds control planes by name; without names, the one that t selects.
func (t *target) findPlanes(names []string) ([]plane, error) {
	if len(names) == 0 {
		p, err := t.findPlane()
		return []plane{p}, err
	}
	list := make([]plane, len(names))
	for i, name := range names {
		one := &target{name: name, named: func() bool { return true }}
		one.acceptContextName()
		p, err := one.findPlane()
		if err != nil {
			return nil, err
		}
		list[i] = p
	}
	return list, nil
}

func (d *downCommand) choose(names []string) ([]plane, error) {
	if d.all {
		list, err := allPlanes()
		return warnOfUnlisted(slices.DeleteFunc(list, func(p plane) bool { return !p.isUp() || p.Private }), err)
	}
	if len(names) > 0 || d.target.named() || os.Getenv(dataDirEnv) != "" {
		return d.target.findPlanes(names)
	}
	return d.chooseDefault()
}

// chooseDefault never takes another control plane than the default one, although it may be
// the only one running.
func (d *downCommand) chooseDefault() ([]plane, error) {
	all, err := allPlanes()
	if err != nil && !datadir.IsStateFolderError(err) {
		return nil, err
	}
	var others []plane
	for _, p := range all {
		switch {
		case p.Name == d.target.name && !p.Ephemeral:
			if p.isUp() || p.State == planeInaccessible { // which its error explains
				return []plane{p}, nil
			}
		case p.isUp() && !p.Private:
			others = append(others, p)
		}
	}
	if len(others) > 0 {
		return nil, fmt.Errorf("control plane %q is not running: to stop another one use %s, or --all", d.target.name, joinFlags(others))
	}
	return nil, err
}

// stopEach stops control planes one after the other.
func (d *downCommand) stopEach(ctx context.Context, out io.Writer, list []plane) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "nothing to stop: no control plane is running")
		return err
	}
	var errs []error
	for _, p := range list {
		stopped, err := d.stop(ctx, p)
		text := "stopped"
		if !stopped {
			text = "was not running"
		}
		if err != nil {
			errs = append(errs, p.wrapError(err))
			continue
		}
		if _, err := fmt.Fprintf(out, "%s %s\n", p.describe(), text); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

func (d *downCommand) stop(ctx context.Context, p plane) (stopped bool, err error) {
	ctx, cancel := withTimeout(ctx, d.timeout)
	defer cancel()
	return datadir.Stop(ctx, p.DataDir)
}
