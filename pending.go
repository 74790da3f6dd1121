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

// PendingFile is the snapshot that a data folder is being filled with: there
// from before the first write until after the last, so that a start finishes
// what was cut short.
const PendingFile = "restore"

func (p *plane) pendingPath() string { return p.dir.Join(PendingFile) }

// placeFrom has a new data folder begin with the snapshot that the Server names.
func (p *plane) placeFrom() error {
	if p.Server.From == "" {
		return nil
	}
	if _, err := os.Stat(p.dir.Join("etcd")); err == nil {
		return usage.Errorf("data folder %s holds a control plane already, which does not start from a snapshot: choose another --name, or start it and use \"snapshot restore\"", p.dir.Path())
	}
	file, err := os.ReadFile(p.Server.From)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if _, err := decode(file, ""); err != nil {
		return err
	}
	if err := durable.Write(p.pendingPath(), file, !p.dir.Ephemeral()); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

// fill writes the snapshot that waits in the data folder, if any, before anybody
// reads what etcd holds.
func (p *plane) fill(ctx context.Context, store *etcd.Server) error {
	if p.Server.From != "" {
		there, err := store.Read(ctx, p.etcdPrefix(), 0)
		if err == nil && len(there.Entries) > 0 {
			err = usage.Errorf("the etcd cluster holds a control plane already, which does not start from a snapshot: start it without --from and use \"snapshot restore\"")
		}
		if err != nil {
			return errors.Join(err, os.Remove(p.pendingPath()))
		}
	}
	return finishRestore(ctx, p.dir, store, p.etcdPrefix())
}

// finishRestore writes the snapshot that waits in a data folder, if any.
func finishRestore(ctx context.Context, dir *datadir.Dir, store *etcd.Server, prefix string) error {
	path := dir.Join(PendingFile)
	file, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("a restore was cut short: %w", err)
	}
	origin, err := originOf(dir.Join("pki", "sa.pub"))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // its keys are new, too
	}
	if err != nil {
		return err
	}
	want, err := decode(file, origin)
	if err != nil {
		return fmt.Errorf("a restore was cut short and cannot be finished: %w: remove %s to start with what there is", err, path)
	}
	if _, err := store.Write(ctx, prefix, want); err != nil {
		return fmt.Errorf("a restore was cut short and cannot be finished: %w", err)
	}
	return durable.Remove(path, !dir.Ephemeral())
}
