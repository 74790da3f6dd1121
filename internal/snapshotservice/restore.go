package snapshotservice

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/informersync"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/storekeys"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

const (
	// restoreTimeout bounds each part of a restore: what it does with etcd before and after the
	// informers have seen it, the wait for these, and the resumption of nodes.
	restoreTimeout = time.Minute
	// discoveryTimeout bounds the wait for the API server to serve what restored
	// CustomResourceDefinitions define, and to say whether it serves a group.
	discoveryTimeout = 2 * time.Second
)

// limit returns the context of a part of a restore: one that has begun is finished, even if
// the client goes away, but not if the control plane closes.
func (s *Service) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
	stop := context.AfterFunc(s.restores, cancel)
	return ctx, func() { stop(); cancel() }
}

// restore replaces the state while no controller and no node of this process acts.
// Whatever remembers objects starts again afterwards.
func (s *Service) restore(ctx context.Context, file []byte, want snapshot.State) (done control.RestoreResult, err error) {
	began := time.Now()
	resume, err := s.cfg.SuspendNodes()
	if err != nil {
		return done, err
	}
	resumeNodes := func() error {
		ctx, cancel := context.WithTimeout(s.closing, restoreTimeout)
		defer cancel()
		return resume(ctx)
	}
	resumeControllers, err := s.cfg.SuspendControllers()
	if err != nil {
		return done, errors.Join(err, resumeNodes())
	}
	stopped := time.Since(began)
	written, changed := time.Duration(0), changedKinds{replacesCRDs: true} // unless writeState returns
	var resumeErr error
	func() {
		// Also if writing panics, or a fatal error of etcd ends the goroutine: the parts cannot be closed until
		// they resume. Controllers resume before the nodes do, as at a start.
		defer func() { resumeErr = errors.Join(resumeControllers(s.closing, changed.replacesCRDs), resumeNodes()) }()
		done, changed, err = s.writeState(ctx, file, want)
		if changed.policy {
			err = errors.Join(err, s.establishPolicy()) // before the controllers resume, which act under it
		}
		written = time.Since(began)
	}()
	done.Took = time.Since(began)
	switch closing := s.closing.Err() != nil; {
	case !closing:
		err = errors.Join(err, resumeErr)
		s.cfg.Restored(describeRestore(done, err), err != nil)
	case err != nil:
		err = fmt.Errorf("%w: %w", errClosing, err)
	}
	s.cfg.Logger.Info("restore", "changed", done.Total(), "revision", done.Revision, "err", err,
		"took", done.Took, "stop", stopped, "write", written-stopped, "start", done.Took-written)
	return done, err
}

// describeRestore returns the sentence for Config.Restored.
func describeRestore(done control.RestoreResult, err error) string {
	took := words.Duration(done.Took)
	switch {
	case err != nil:
		return fmt.Sprintf("a snapshot could not be restored, controllers restarted after %s: %v", took, err)
	case done.Total() == 1:
		return fmt.Sprintf("a snapshot was restored: 1 object changed, controllers restarted after %s", took)
	}
	return fmt.Sprintf("a snapshot was restored: %d objects changed, controllers restarted after %s", done.Total(), took)
}

// establishPolicy completes what the API server completes at a start. Once the control plane
// closes, that is left to the next one.
func (s *Service) establishPolicy() error {
	ctx, cancel := context.WithTimeout(s.closing, restoreTimeout)
	defer cancel()
	err := s.cfg.EstablishPolicy(ctx)
	if err == nil || s.closing.Err() != nil {
		return nil
	}
	return fmt.Errorf("it was restored, but controllers may be forbidden what they do until the next start: %w", err)
}

// changedKinds says which kinds a restore has changed that need more than to be written.
type changedKinds struct {
	replacesCRDs bool // CustomResourceDefinitions were created, deleted or replaced
	policy       bool // see changesPolicy
}

// writeState writes the state while all other writes are blocked, and returns when
// the informers have seen it.
func (s *Service) writeState(ctx context.Context, file []byte, want snapshot.State) (done control.RestoreResult, changed changedKinds, err error) {
	bounded, cancel := s.limit(ctx)
	defer cancel()
	select {
	case s.access <- struct{}{}:
		defer func() { <-s.access }()
	case <-bounded.Done():
		return done, changed, fmt.Errorf("nothing was restored: a snapshot is being saved: %w", context.Cause(bounded))
	}
	release, err := s.cfg.BlockWrites(bounded)
	if err != nil {
		return done, changed, err
	}
	began := time.Now()
	replaced, cut := false, false
	defer func() {
		if !cut {
			release(replaced)
		}
		done.WritesBlocked = time.Since(began)
	}()
	target, store := s.cfg.Target, s.cfg.Store
	before, err := store.ReadState(bounded, target.Prefix, 0)
	if err != nil {
		return done, changed, err
	}
	if err = target.checkNested(before); err == nil {
		err = target.beginPending(bounded, store, before.Revision, file)
	}
	if err != nil {
		return done, changed, fmt.Errorf("nothing was restored: %w", err)
	}
	want = s.withoutUnservedAPIs(bounded, before, withBuiltInAPIs(before, want))
	replaced = true
	written, changed, err := s.replaceState(ctx, before, want, began)
	switch {
	case err != nil && s.restores.Err() != nil:
		cut = true // a write now would keep the next start from restoring the rest
		return done, changedKinds{replacesCRDs: true}, target.partlyRestoredError(err)
	case err != nil:
		return done, changedKinds{replacesCRDs: true}, s.rollBack(before, err)
	}
	bounded, cancel = s.limit(ctx)
	defer cancel()
	if err := target.removePending(bounded, store); err != nil {
		return done, changed, fmt.Errorf("it was restored, but the next start would restore it again: %w: remove that file", err)
	}
	done.Revision, done.ObjectCounts = written.Revision, control.ObjectCounts(written.Counts)
	return done, changed, nil
}

// replaceState writes what differs between before and want, and returns when the informers
// have seen it. After an error, some of it may have been written.
func (s *Service) replaceState(ctx context.Context, before, want snapshot.State, began time.Time) (written etcd.WriteResult, changed changedKinds, err error) {
	changedSchemas := crdsWithOtherSchema(before, want)
	want.PutAgain = objectsOf(changedSchemas, before.Revision) // clients that have read them did so with the previous schema
	first, err := s.writeSchemas(ctx, changedSchemas, before, want, began)
	if err != nil {
		return written, changed, err
	}
	bounded, cancel := s.limit(ctx)
	defer cancel()
	written, err = s.cfg.Store.ReplaceState(bounded, s.cfg.Target.Prefix, want)
	s.cfg.Changed(changes(before, want, written, began))
	if err != nil {
		return written, changed, err
	}
	addRevisions(written, first) // the definitions say which informers have lost their watch
	changed.replacesCRDs = s.waitForInformers(ctx, before, want, written)
	changed.policy = changesPolicy(written)
	bounded, cancel = s.limit(ctx)
	defer cancel()
	// Requests that were canceled after they had been sent may have written since.
	late, err := s.cfg.Store.ReplaceState(bounded, s.cfg.Target.Prefix, want)
	if err == nil && late.Total() > 0 {
		s.cfg.Changed(changes(before, want, late, began))
		s.waitForInformers(ctx, want, want, late)
	}
	written.Revision = late.Revision
	written.Counts.Add(first.Counts)
	return written, changed, err
}

// addRevisions adds the keys that were written before.
func addRevisions(written, first etcd.WriteResult) {
	for key, revision := range first.Revisions {
		written.Revisions[key] = max(written.Revisions[key], revision)
	}
}

// rollBack undoes what a failed restore has written, with the same care for clients: they may have read
// objects with the schemas of the snapshot.
func (s *Service) rollBack(before snapshot.State, cause error) error {
	ctx, cancel := s.limit(context.Background())
	defer cancel()
	now, err := s.cfg.Store.ReadState(ctx, s.cfg.Target.Prefix, 0)
	if err == nil {
		_, _, err = s.replaceState(ctx, now, before, time.Now())
	}
	if err != nil {
		return fmt.Errorf("only a part was restored: %w: restore it again", errors.Join(cause, err)) // what is written from now on keeps the next start from that
	}
	ctx, cancel = s.limit(ctx)
	defer cancel()
	if err := s.cfg.Target.removePending(ctx, s.cfg.Store); err != nil {
		return fmt.Errorf("nothing was restored, but the next start would restore it: %w: remove that file", errors.Join(cause, err))
	}
	return fmt.Errorf("nothing was restored: %w", cause)
}

// waitForInformers waits until the informers of this process have seen what was
// written, and admission policies are in force. It returns true if CustomResourceDefinitions were created, deleted or
// replaced.
func (s *Service) waitForInformers(ctx context.Context, before, want snapshot.State, written etcd.WriteResult) (crdsReplaced bool) {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	latest := informersync.Revisions{}
	for key, revision := range written.Revisions {
		prefix := storekeys.ResourcePrefix(key)
		latest[prefix] = max(latest[prefix], revision)
	}
	discovery, cancelDiscovery := context.WithTimeout(ctx, discoveryTimeout)
	defer cancelDiscovery()
	for _, crd := range changedCRDs(before, want, written) {
		if err := s.waitForCRD(discovery, crd); err != nil {
			s.cfg.Logger.Warn("restore", "err", err)
		}
		if crd.replaced { // its informers have lost their watch, and may back off for long
			crdsReplaced = true
			delete(latest, crd.prefix)
		}
	}
	var waits sync.WaitGroup
	for _, wait := range s.cfg.WaitInformers {
		waits.Go(func() {
			if err := wait(ctx, latest); err != nil {
				s.cfg.Logger.Warn("restore", "err", err)
			}
		})
	}
	waits.Wait()
	s.waitForAdmissionPolicies(ctx, written)
	return crdsReplaced
}
