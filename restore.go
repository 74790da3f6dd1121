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
	// catchUpTimeout bounds the wait for informers. One of a kind that a restore
	// has made anew may sit out a pause of its own, which nothing waits for.
	catchUpTimeout = 2 * time.Second
)

// restore replaces the state: nothing of this process acts while it does, and
// all that remembers objects begins anew.
func (s *states) restore(ctx context.Context, file []byte, want snapshot.State) (done control.Restored, err error) {
	p := s.plane
	if p.Server.LeaderElect {
		return done, usage.Errorf("with --leader-elect other processes act on the same state: stop all, and restore one that is started without it")
	}
	if !s.busy.TryLock() {
		return done, errBusy
	}
	defer s.busy.Unlock()
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
	defer cancel()

	resumeNodes, err := p.fleet.suspend()
	if err != nil {
		return done, err
	}
	resume, err := p.supervisor.Suspend()
	if err != nil {
		return done, errors.Join(err, resumeNodes(ctx))
	}
	ended := time.Since(began)
	done, moved, err := s.replace(ctx, file, want)
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

// replace writes the state while nobody else writes, and returns when the
// informers have seen it; moved says that custom kinds have come or gone.
func (s *states) replace(ctx context.Context, file []byte, want snapshot.State) (done control.Restored, moved bool, err error) {
	p := s.plane
	release, err := p.api.HoldWrites(ctx)
	if err != nil {
		return done, false, err
	}
	began := time.Now()
	defer func() {
		release()
		done.Held = time.Since(began)
	}()
	store, prefix := p.storage.server, p.etcdPrefix()
	before, err := store.Read(ctx, prefix, 0)
	if err != nil {
		return done, false, err
	}
	lasting := !p.dir.Ephemeral()
	if err := durable.Write(p.pendingPath(), file, lasting); err != nil {
		return done, false, fmt.Errorf("nothing was restored: %w", err)
	}
	written, err := store.Write(ctx, prefix, want)
	if err == nil {
		moved = p.catchUp(ctx, before, want, written)
		// What was given up, but sent already, may have come since.
		var late etcd.Written
		if late, err = store.Write(ctx, prefix, want); err == nil && late.Total() > 0 {
			p.catchUp(ctx, want, want, late)
		}
		done.Revision = late.Revision
	}
	if err != nil {
		return done, true, s.takeBack(before, want, err)
	}
	if err := durable.Remove(p.pendingPath(), lasting); err != nil {
		return done, moved, fmt.Errorf("it was restored, but would be once more at the next start: %w: remove that file", err)
	}
	done.Counts = written.Counts
	return done, moved, nil
}

// takeBack undoes what a failed restore has written.
func (s *states) takeBack(before, want snapshot.State, why error) error {
	p := s.plane
	ctx, cancel := context.WithTimeout(context.Background(), restoreTimeout)
	defer cancel()
	written, err := p.storage.server.Write(ctx, p.etcdPrefix(), before)
	if err != nil {
		return fmt.Errorf("a part was restored, the next start restores the rest: %w", errors.Join(why, err))
	}
	p.catchUp(ctx, want, before, written)
	if err := durable.Remove(p.pendingPath(), !p.dir.Ephemeral()); err != nil {
		return fmt.Errorf("nothing was restored, but would be at the next start: %w: remove that file", errors.Join(why, err))
	}
	return fmt.Errorf("nothing was restored: %w", why)
}

// catchUp waits until what reads in this process has seen what was written, and
// says whether custom kinds have come or gone.
func (p *plane) catchUp(ctx context.Context, before, want snapshot.State, written etcd.Written) (moved bool) {
	ctx, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	latest := informersync.Revisions{}
	for key, revision := range written.Latest {
		folder := snapshot.Folder(key)
		latest[folder] = max(latest[folder], revision)
	}
	for _, kind := range changedKinds(before, want, written) {
		if err := p.awaitKind(ctx, kind); err != nil {
			p.log.Warn("restore", "err", err)
		}
		// Where a kind has gone or come its informers have lost their watch.
		if kind.moved {
			moved = true
			delete(latest, kind.folder)
		}
	}
	for _, wait := range []func(context.Context, informersync.Revisions) error{p.api.WaitCaughtUp, p.supervisor.WaitCaughtUp} {
		if err := wait(ctx, latest); err != nil {
			p.log.Warn("restore", "err", err)
		}
	}
	return moved
}

// suspend ends the simulation until resume, which has to be called. Nobody gets
// at the nodes meanwhile.
func (f *fleet) suspend() (resume func(context.Context) error, err error) {
	f.mu.Lock()
	if f.closed {
		defer f.mu.Unlock()
		return nil, errors.New("the control plane is stopping")
	}
	if f.nodes == nil {
		return func(context.Context) error { f.mu.Unlock(); return nil }, nil
	}
	err = f.nodes.Close()
	f.nodes = nil
	resume = func(ctx context.Context) error {
		defer f.mu.Unlock()
		return f.again(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, resume(context.Background()))
	}
	return resume, nil
}

// again starts the simulation of the nodes that there are, and makes none.
func (f *fleet) again(ctx context.Context) (err error) {
	cfg := f.plane.fleetConfig()
	cfg.Count = 0
	start := func() {
		var started *nodes.Fleet
		if started, err = nodes.Start(ctx, cfg); err == nil {
			f.nodes = started
		}
	}
	if by := f.plane.recorder(kubeletName); by != nil {
		by.Do(start)
	} else {
		start()
	}
	return err
}
