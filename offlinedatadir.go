package ctrlplane

import (
	"cmp"
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
	"github.com/ctrlplane/ctrlplane/internal/snapshotservice"
	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

// OfflineDataDir saves and restores the state in the data folder of a control plane
// that is not running. Name is the control plane's, for the snapshot's header.
type OfflineDataDir struct{ Dir, Name string }

var _ control.Snapshots = OfflineDataDir{}

// Save implements control.Snapshots.
func (d OfflineDataDir) Save(ctx context.Context) (file []byte, err error) {
	err = d.withStore(ctx, func(target snapshotservice.Target, store *etcd.Server) error {
		if err := target.FinishPending(ctx, store); err != nil {
			return err
		}
		state, err := store.ReadState(ctx, target.Prefix, 0)
		if err != nil {
			return err
		}
		if len(state.Entries) == 0 {
			return fmt.Errorf("data folder %s holds no objects: start the control plane once", d.Dir)
		}
		file, err = target.Encode(state)
		return err
	})
	return file, err
}

// Restore implements control.Snapshots.
func (d OfflineDataDir) Restore(ctx context.Context, file []byte) (done control.RestoreResult, err error) {
	began := time.Now()
	err = d.withStore(ctx, func(target snapshotservice.Target, store *etcd.Server) error {
		want, err := target.Decode(file)
		if err != nil {
			return err
		}
		if err := target.CheckPending(ctx, store); err != nil {
			return err
		}
		if err := recordRelease(target.Dir); err != nil {
			return err
		}
		written, err := target.Replace(ctx, store, file, want)
		if err == nil {
			done.ObjectCounts, done.Revision = control.ObjectCounts(written.Counts), written.Revision
		}
		return err
	})
	done.Took = time.Since(began)
	return done, err
}

// Reset implements control.Snapshots.
func (d OfflineDataDir) Reset(context.Context) (control.RestoreResult, error) {
	return control.RestoreResult{}, errors.New("a control plane that is not running cannot be reset: start it, or restore a snapshot")
}

// withStore opens the data folder and its etcd while do runs.
func (d OfflineDataDir) withStore(ctx context.Context, do func(snapshotservice.Target, *etcd.Server) error) (err error) {
	if _, err := os.Stat(filepath.Join(d.Dir, "etcd", "member")); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("data folder %s holds no state: no control plane was started there, or it uses an etcd cluster and must be running", d.Dir)
		}
		return fmt.Errorf("data folder %s: %w", d.Dir, err)
	}
	dir, err := datadir.Open(ctx, d.Dir, datadir.FormatVersion)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	state, err := dir.State()
	if err != nil {
		return err
	}
	if err := checkRelease(d.Dir, state); err != nil {
		return err
	}
	if state.EtcdCluster { // the embedded etcd is of an earlier start
		return fmt.Errorf("data folder %s does not hold the state of its control plane: it uses an etcd cluster and must be running", d.Dir)
	}
	store, err := etcd.Start(ctx, etcd.Config{Dir: dir.Join("etcd"), HoldsData: state.EmbeddedEtcd})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return do(snapshotTarget(dir, cmp.Or(state.EtcdPrefix, storekeys.DefaultPrefix), d.Name), store)
}
