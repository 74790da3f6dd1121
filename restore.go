package ctrlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/durable"
	"github.com/ctrlplane/ctrlplane/internal/informersync"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/sim/nodes"
)

const (
	// restoreTimeout bounds what a restore does with etcd.
	restoreTimeout = time.Minute
	// informerTimeout bounds the wait for informers. One of a kind that a restore
	// has made anew may sit out a pause of its own, which nothing waits for.
	informerTimeout = 2 * time.Second
)

// replaceState replaces the state: nothing of this process acts while it does, and
// all that remembers objects begins anew.
func (s *snapshotService) replaceState(ctx context.Context, file []byte, want snapshot.State) (done control.RestoreResult, err error) {
	p := s.owner
	if p.config.LeaderElect {
		return done, usage.Errorf("with --leader-elect other processes act on the same state: stop all, and restore one that is started without it")
	}
	if !s.restoring.TryLock() {
		return done, errRestoreRunning
	}
	defer s.restoring.Unlock()
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
	defer cancel()

	resumeNodes, err := p.nodes.suspend()
	if err != nil {
		return done, err
	}
	resume, err := p.supervisor.Suspend()
	if err != nil {
		return done, errors.Join(err, resumeNodes(ctx))
	}
	ended := time.Since(began)
	done, moved, err := s.writeState(ctx, file, want)
	replaced := time.Since(began)
	// Controllers go on before the nodes do, as at a start.
	err = errors.Join(err, resume(moved), resumeNodes(ctx))
	done.Took = time.Since(began)
	p.observer.Append(&observe.Logged{Controller: "ctrlplane", Level: int(slog.LevelWarn), Message: fmt.Sprintf(
		"the state was put back: %d objects have changed, controllers have begun anew after %v", done.Total(), done.Took.Round(time.Millisecond))})
	p.log.Info("restore", "changed", done.Total(), "revision", done.Revision, "err", err,
		"took", done.Took, "end", ended, "replace", replaced-ended, "begin", done.Took-replaced)
	return done, err
}

// writeState writes the state while nobody else writes, and returns when the
// informers have seen it; moved says that custom kinds have come or gone.
func (s *snapshotService) writeState(ctx context.Context, file []byte, want snapshot.State) (done control.RestoreResult, moved bool, err error) {
	p := s.owner
	release, err := p.api.HoldWrites(ctx)
	if err != nil {
		return done, false, err
	}
	began := time.Now()
	defer func() {
		release()
		done.WritesBlocked = time.Since(began)
	}()
	store, prefix := p.etcd.server, p.etcdPrefix()
	before, err := store.ReadState(ctx, prefix, 0)
	if err != nil {
		return done, false, err
	}
	lasting := !p.dir.Ephemeral()
	if err := durable.Write(p.pendingRestorePath(), file, lasting); err != nil {
		return done, false, fmt.Errorf("nothing was restored: %w", err)
	}
	written, err := store.ReplaceState(ctx, prefix, want)
	if err == nil {
		moved = p.waitForInformers(ctx, before, want, written)
		// What was given up, but sent already, may have come since.
		var late etcd.WriteResult
		if late, err = store.ReplaceState(ctx, prefix, want); err == nil && late.Total() > 0 {
			p.waitForInformers(ctx, want, want, late)
		}
		done.Revision = late.Revision
	}
	if err != nil {
		return done, true, s.rollBack(before, want, err)
	}
	if err := durable.Remove(p.pendingRestorePath(), lasting); err != nil {
		return done, moved, fmt.Errorf("it was restored, but would be once more at the next start: %w: remove that file", err)
	}
	done.ObjectCounts = control.ObjectCounts(written.Counts)
	return done, moved, nil
}

// rollBack undoes what a failed restore has written.
func (s *snapshotService) rollBack(before, want snapshot.State, why error) error {
	p := s.owner
	ctx, cancel := context.WithTimeout(context.Background(), restoreTimeout)
	defer cancel()
	written, err := p.etcd.server.ReplaceState(ctx, p.etcdPrefix(), before)
	if err != nil {
		return fmt.Errorf("a part was restored, the next start restores the rest: %w", errors.Join(why, err))
	}
	p.waitForInformers(ctx, want, before, written)
	if err := durable.Remove(p.pendingRestorePath(), !p.dir.Ephemeral()); err != nil {
		return fmt.Errorf("nothing was restored, but would be at the next start: %w: remove that file", errors.Join(why, err))
	}
	return fmt.Errorf("nothing was restored: %w", why)
}

// waitForInformers waits until what reads in this process has seen what was written, and
// says whether custom kinds have come or gone.
func (p *controlPlane) waitForInformers(ctx context.Context, before, want snapshot.State, written etcd.WriteResult) (moved bool) {
	ctx, cancel := context.WithTimeout(ctx, informerTimeout)
	defer cancel()
	latest := informersync.Revisions{}
	for key, revision := range written.Revisions {
		folder := snapshot.ResourcePrefix(key)
		latest[folder] = max(latest[folder], revision)
	}
	for _, kind := range changedCRDs(before, want, written) {
		if err := p.waitForKind(ctx, kind); err != nil {
			p.log.Warn("restore", "err", err)
		}
		// Where a kind has gone or come its informers have lost their watch.
		if kind.replaced {
			moved = true
			delete(latest, kind.prefix)
		}
	}
	for _, wait := range []func(context.Context, informersync.Revisions) error{p.api.WaitCaughtUp, p.supervisor.WaitInformersSynced} {
		if err := wait(ctx, latest); err != nil {
			p.log.Warn("restore", "err", err)
		}
	}
	return moved
}

// suspend ends the simulation until resume, which has to be called. Nobody gets
// at the nodes meanwhile.
func (f *nodeSimulation) suspend() (resume func(context.Context) error, err error) {
	f.mu.Lock()
	if f.closed {
		defer f.mu.Unlock()
		return nil, errors.New("the control plane is stopping")
	}
	if f.running == nil {
		return func(context.Context) error { f.mu.Unlock(); return nil }, nil
	}
	err = f.running.Close()
	f.running = nil
	resume = func(ctx context.Context) error {
		defer f.mu.Unlock()
		return f.restart(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, resume(context.Background()))
	}
	return resume, nil
}

// restart starts the simulation of the nodes that there are, and makes none.
func (f *nodeSimulation) restart(ctx context.Context) (err error) {
	cfg := f.owner.nodesConfig()
	cfg.Count = 0
	start := func() {
		var started *nodes.Fleet
		if started, err = nodes.Start(ctx, cfg); err == nil {
			f.running = started
		}
	}
	if by := f.owner.recorder(kubeletName); by != nil {
		by.Do(start)
	} else {
		start()
	}
	return err
}
