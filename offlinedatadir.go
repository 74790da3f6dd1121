package ctrlplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/durable"
)

// OfflineDataDir is the data folder of a control plane that does not run: its state
// can be saved and restored, too. Name is what a snapshot says it is from.
type OfflineDataDir struct{ Dir, Name string }

var _ control.Snapshots = OfflineDataDir{}

// Save implements control.Snapshots.
func (s OfflineDataDir) Save(ctx context.Context) (file []byte, err error) {
	err = s.withStore(ctx, func(dir *datadir.Dir, store *etcd.Server) error {
		if err := finishRestore(ctx, dir, store, defaultEtcdPrefix); err != nil {
			return err
		}
		state, err := store.ReadState(ctx, defaultEtcdPrefix, 0)
		if err != nil {
			return err
		}
		if len(state.Entries) == 0 {
			return fmt.Errorf("data folder %s holds no objects: start the control plane once", s.Dir)
		}
		origin, err := readOrigin(dir.Join("pki", "sa.pub"))
		if err != nil {
			return err
		}
		file, err = encodeSnapshot(s.Name, origin, state)
		return err
	})
	return file, err
}

// Restore implements control.Snapshots.
func (s OfflineDataDir) Restore(ctx context.Context, file []byte) (done control.RestoreResult, err error) {
	began := time.Now()
	err = s.withStore(ctx, func(dir *datadir.Dir, store *etcd.Server) error {
		origin, err := readOrigin(dir.Join("pki", "sa.pub"))
		if err != nil {
			return err
		}
		want, err := decodeSnapshot(file, origin)
		if err != nil {
			return err
		}
		if err := durable.Write(dir.Join(PendingRestoreFile), file, true); err != nil {
			return fmt.Errorf("nothing was restored: %w", err)
		}
		written, err := store.ReplaceState(ctx, defaultEtcdPrefix, want)
		if err != nil {
			return fmt.Errorf("a part was restored, the next start restores the rest: %w", err)
		}
		done.ObjectCounts, done.Revision = control.ObjectCounts(written.Counts), written.Revision
		return durable.Remove(dir.Join(PendingRestoreFile), true)
	})
	done.Took = time.Since(began)
	return done, err
}

// Reset implements control.Snapshots.
func (s OfflineDataDir) Reset(context.Context) (control.RestoreResult, error) {
	return control.RestoreResult{}, errors.New("a control plane that does not run cannot be reset: start it, or restore a snapshot")
}

// withStore has the folder and its etcd for the time of do.
func (s OfflineDataDir) withStore(ctx context.Context, do func(*datadir.Dir, *etcd.Server) error) (err error) {
	if _, err := os.Stat(filepath.Join(s.Dir, "etcd", "member")); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("data folder %s holds no state: nothing was started there, or it is in an etcd cluster elsewhere and the control plane has to run for this", s.Dir)
		}
		return fmt.Errorf("data folder %s: %w", s.Dir, err)
	}
	dir, err := datadir.Open(s.Dir, dataVersion)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	store, err := etcd.Start(ctx, etcd.Config{Dir: dir.Join("etcd")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return do(dir, store)
}
