package ctrlplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/durable"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// PendingRestoreFile is the snapshot that a data folder is being filled with: there
// from before the first write until after the last, so that a start finishes
// what was cut short.
const PendingRestoreFile = "restore"

func (p *controlPlane) pendingRestorePath() string { return p.dir.Join(PendingRestoreFile) }

// placeInitialSnapshot has a new data folder begin with the snapshot that the Server names.
func (p *controlPlane) placeInitialSnapshot() error {
	if p.config.FromSnapshot == "" {
		return nil
	}
	if _, err := os.Stat(p.dir.Join("etcd")); err == nil {
		return usage.Errorf("data folder %s holds a control plane already, which does not start from a snapshot: choose another --name, or start it and use \"snapshot restore\"", p.dir.Path())
	}
	file, err := os.ReadFile(p.config.FromSnapshot)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if _, err := decodeSnapshot(file, ""); err != nil {
		return err
	}
	if err := durable.Write(p.pendingRestorePath(), file, !p.dir.Ephemeral()); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

// fillStore writes the snapshot that waits in the data folder, if any, before anybody
// reads what etcd holds.
func (p *controlPlane) fillStore(ctx context.Context, store *etcd.Server) error {
	if p.config.FromSnapshot != "" {
		there, err := store.ReadState(ctx, p.etcdPrefix(), 0)
		if err == nil && len(there.Entries) > 0 {
			err = usage.Errorf("the etcd cluster holds a control plane already, which does not start from a snapshot: start it without --from and use \"snapshot restore\"")
		}
		if err != nil {
			return errors.Join(err, os.Remove(p.pendingRestorePath()))
		}
	}
	return finishRestore(ctx, p.dir, store, p.etcdPrefix())
}

// finishRestore writes the snapshot that waits in a data folder, if any.
func finishRestore(ctx context.Context, dir *datadir.Dir, store *etcd.Server, prefix string) error {
	path := dir.Join(PendingRestoreFile)
	file, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("a restore was cut short: %w", err)
	}
	origin, err := readOrigin(dir.Join("pki", "sa.pub"))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // its keys are new, too
	}
	if err != nil {
		return err
	}
	want, err := decodeSnapshot(file, origin)
	if err != nil {
		return fmt.Errorf("a restore was cut short and cannot be finished: %w: remove %s to start with what there is", err, path)
	}
	if _, err := store.ReplaceState(ctx, prefix, want); err != nil {
		return fmt.Errorf("a restore was cut short and cannot be finished: %w", err)
	}
	return durable.Remove(path, !dir.Ephemeral())
}
