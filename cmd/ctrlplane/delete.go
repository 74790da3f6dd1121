package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/kubeconfig"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// deleteCommand has the flags of "ctrlplane delete".
type deleteCommand struct {
	target *target
	all    bool
	force  bool
}

func newDeleteCommand(t *target) *cobra.Command {
	d := &deleteCommand{target: t}
	cmd := &cobra.Command{
		Use:     "delete (NAME… | --all)",
		Aliases: []string{"rm"},
		Short:   "Delete stopped control planes with all their data",
		Long: `Delete control planes with all their data: the objects, the certificates and the log.
Snapshots stay. A context that --merge-kubeconfig has added to your own kubeconfig is
removed. A data folder with files that ctrlplane has not created is not deleted.

A control plane that is running is not deleted: stop it first, or use --force.`,
		Example: `  ctrlplane delete demo
  ctrlplane delete --all
  ctrlplane delete demo --force`,
		Args: func(cmd *cobra.Command, args []string) error {
			if !d.all && len(args) == 0 && !t.named() {
				return usage.Errorf(`delete: missing name: name control planes, or use --all: "ctrlplane list" lists them`)
			}
			return checkPlaneArgs("delete", t, d.all, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), cmd.OutOrStdout(), args) },
	}
	cmd.Flags().BoolVar(&d.all, "all", false, "delete all control planes but those of a run or a test")
	cmd.Flags().BoolVar(&d.force, "force", false, "stop those that are running first")
	return cmd
}

func (d *deleteCommand) run(ctx context.Context, out io.Writer, names []string) error {
	chosen, err := d.choose(names)
	if err != nil {
		return err
	}
	if len(chosen) == 0 {
		_, err := fmt.Fprintln(out, "nothing to delete: there are no control planes")
		return err
	}
	for _, p := range chosen { // before anything is deleted
		if err := p.rejectStop(); err != nil {
			return err
		}
		if p.isUp() && !d.force {
			return fmt.Errorf("control plane %q is running, nothing was deleted: stop it with %s, or use --force", p.Name, quoteCommand(programWord()+" "+p.flag()+" down"))
		}
	}
	var errs []error
	for _, p := range chosen {
		if err := d.delete(ctx, p); err != nil {
			errs = append(errs, p.wrapError(err))
			continue
		}
		if _, err := fmt.Fprintf(out, "%s deleted\n", p.describe()); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

func (d *deleteCommand) choose(names []string) (chosen []plane, err error) {
	if !d.all {
		chosen, err := d.target.findPlanes(names)
		if err == nil {
			err = d.rejectContextNames(names)
		}
		return chosen, err
	}
	all, err := allPlanes()
	for _, p := range all {
		if !p.Private || !p.isUp() {
			chosen = append(chosen, p)
		}
	}
	return warnOfUnlisted(chosen, err)
}

// rejectContextNames rejects what other verbs accept for a control plane's name: it may be
// the name of one that is gone.
func (d *deleteCommand) rejectContextNames(names []string) error {
	given := []*target{d.target}
	for _, name := range names {
		one := &target{name: name}
		one.acceptContextName()
		given = append(given, one)
	}
	for _, t := range given {
		if t.context != "" {
			return usage.Errorf("control plane %q does not exist, nothing was deleted: did you mean %q?", t.context, t.name)
		}
	}
	return nil
}

func (d *deleteCommand) delete(ctx context.Context, p plane) error {
	// Before the folder is removed: a context of another one may have the same name.
	cfg, kubeconfigErr := clientcmd.LoadFromFile(filepath.Join(p.DataDir, ctrlplane.KubeconfigFile))
	if p.isUp() {
		stop := &downCommand{timeout: time.Minute}
		if _, err := stop.stop(ctx, p); err != nil {
			return err
		}
	}
	err := datadir.Remove(ctx, p.DataDir)
	if errors.As(err, new(*datadir.NotFoundError)) {
		err = nil // an ephemeral one removes its folder itself
	}
	switch {
	case err != nil || p.Name == "" || errors.Is(kubeconfigErr, fs.ErrNotExist): // never merged, either
		return err
	case kubeconfigErr != nil:
		return fmt.Errorf("deleted, but the context %s in your own kubeconfig stays, if there is one, because that of the data folder was not readable: %w", datadir.ContextName(p.Name), kubeconfigErr)
	}
	context := datadir.ContextName(p.Name)
	if err := kubeconfig.Unmerge(context, cfg); err != nil {
		return fmt.Errorf("deleted, but the context %s may stay in your own kubeconfig: %w, and remove it with %q", context, err, "kubectl config delete-context "+context)
	}
	return nil
}
