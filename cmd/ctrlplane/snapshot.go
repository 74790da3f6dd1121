package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/neterror"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

func newSnapshotCommand(t *target) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Save, list, restore, delete and compare snapshots of the state",
		Long: `Save all objects of a control plane under a name, and restore them later. It may be
stopped, unless its state is in an etcd cluster (--etcd-endpoints). Snapshots are
files in your state folder: you can restore each of them to any of your control
planes, and "up --from NAME" starts a new control plane from one. Where a snapshot
is named, a path such as ./base.snapshot means a file elsewhere, for example one to
hand to another person: it contains Secrets in plain text.

A restore happens in place: watches continue and receive the changes, and revisions
never decrease. Controllers, the scheduler and simulated nodes stop before a restore
and start again after it. Writes that arrive during a restore fail with a conflict
(409). A restore does not ask first: save the state that it replaces if you need it.

Leases are not part of a snapshot, because they describe which processes are alive.
The clock is not restored: scheduled work that has become due in the meantime is done
at once.`,
		Example: `  ctrlplane snapshot save base
  ctrlplane snapshot diff base
  ctrlplane snapshot restore base
  ctrlplane up --name other --from base
  ctrlplane snapshot save ./base.snapshot      "up --from ./base.snapshot" starts from it
  ctrlplane snapshot delete base`,
		Args: rejectUnknownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSnapshotSave(t), newSnapshotList(), newSnapshotRestore(t), newSnapshotDelete(), newSnapshotDiff(t))
	return cmd
}

// snapshots saves and restores the state of the control plane, running or stopped, which it describes, too.
func (t *target) snapshots() (_ control.Snapshots, plane string, err error) {
	c, err := t.running()
	if err == nil {
		client, err := t.controlClient()
		if err != nil {
			return nil, "", err
		}
		return client.Snapshots(), c.describe(), nil
	}
	ambiguous := errors.As(err, new(ambiguousError))
	if !ambiguous && !errors.As(err, new(notRunningError)) {
		return nil, "", err
	}
	s := t.selected()
	c, _, peekErr := s.peek()
	if peekErr != nil {
		return nil, "", peekErr
	}
	if _, statErr := os.Stat(filepath.Join(c.path, "etcd")); statErr != nil {
		return nil, "", err // the data folder has no state
	}
	if ambiguous { // "snapshot save" may take another one
		return nil, "", fmt.Errorf("%w, and to change the stopped one use %s", err, selectingFlag(c.state.Name, c.path, c.target().dataDir != ""))
	}
	if s.note != nil {
		s.note(t, c)
	}
	c.state.Name = cmp.Or(c.state.Name, t.name)
	return ctrlplane.OfflineDataDir{Dir: c.path, Name: c.state.Name}, c.describe(), nil
}

func newSnapshotSave(t *target) *cobra.Command {
	var overwrite bool
	cmd := &cobra.Command{
		Use:   "save [NAME|FILE]",
		Short: "Save all objects consistently; the default name is the current time",
		Example: `  ctrlplane snapshot save
  ctrlplane snapshot save base
  ctrlplane snapshot save base --overwrite
  ctrlplane snapshot save ./base.snapshot      a file for another person: it contains Secrets`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage.Errorf("snapshot save takes one name, got %q: leave out all but one", args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			name := time.Now().Format("20060102-150405")
			if len(args) > 0 {
				name = args[0]
			}
			store := snapshot.UserStore()
			if err := store.CheckAvailable(name, overwrite); err != nil {
				return err
			}
			from, _, err := t.snapshots()
			if err != nil {
				return err
			}
			began := time.Now()
			file, err := from.Save(cmd.Context())
			if err != nil {
				return err
			}
			head, err := snapshot.DecodeHeader(file)
			if err != nil {
				return fmt.Errorf("the received snapshot is damaged: %w", err)
			}
			if err := store.Save(name, file, overwrite); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s saved: %d objects, %s, in %s\n", name, head.Objects, words.Size(int64(len(file))), words.Duration(time.Since(began)))
			return err
		},
	}
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "replace an existing snapshot of that name")
	return cmd
}

func newSnapshotRestore(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "restore NAME|FILE",
		Short: "Restore a snapshot in place",
		Example: `  ctrlplane snapshot restore base
  ctrlplane --name demo snapshot restore base
  ctrlplane snapshot restore ./base.snapshot`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage.Errorf(`snapshot restore takes one name, got %q: "ctrlplane snapshot list" lists them`, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			store := snapshot.UserStore()
			file, err := store.Load(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if _, err := snapshot.DecodeHeader(file); err != nil {
				return fmt.Errorf("cannot use snapshot %q: %w", args[0], err)
			}
			to, plane, err := t.toChange().snapshots()
			if err != nil {
				return err
			}
			done, err := to.Restore(cmd.Context(), file)
			if err != nil {
				return t.explainLostRestore(err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s restored to %s: %s\n", args[0], plane, describeRestore(done))
			return err
		},
	}
}

func newSnapshotDelete() *cobra.Command {
	return &cobra.Command{
		Use:   "delete NAME…",
		Short: "Delete snapshots",
		Example: `  ctrlplane snapshot delete base
  ctrlplane snapshot delete before after`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage.Errorf(`snapshot delete: missing snapshot name: "ctrlplane snapshot list" lists them`)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			store := snapshot.UserStore()
			for _, name := range args {
				if err := store.Delete(name); err != nil {
					return err
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s deleted\n", name); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// explainLostRestore says what becomes of a restore whose control plane has ended.
func (t *target) explainLostRestore(err error) error {
	if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) && !neterror.IsReset(err) {
		return err
	}
	return fmt.Errorf("the control plane has ended during the restore (%w): its next start completes the restore if it had begun: %s", err, t.byName().commandLine("up"))
}

// describeRestore summarizes what a restore has changed.
func describeRestore(r control.RestoreResult) string {
	return fmt.Sprintf("%d created, %d updated, %d deleted, %d replaced, in %s", r.Created, r.Updated, r.Deleted, r.Replaced, words.Duration(r.Took))
}
