package snapshotservice

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestResetRestoresTheStateOfTheStart(t *testing.T) {
	store := newFakeStore(configMapA)
	s := newStartedService(t, (&parts{}).config(newTarget(t), store))
	s.BeforeChange(t.Context())
	store.write(stateOf(configMapB))
	for range 2 { // the second time from memory
		if _, err := s.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{configMapA}, store.keys()); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
	}
}

// A control plane below the prefix of this one, which is there from the start, delays a reset until it is gone.
func TestResetBesideANestedControlPlane(t *testing.T) {
	nested := []string{"/team-b/configmaps/default/x", "/team-b/namespaces/kube-system", "/teams/c/namespaces/kube-system"}
	store := newFakeStore(append(nested, configMapA)...)
	s := newStartedService(t, (&parts{}).config(newTarget(t), store))
	s.BeforeChange(t.Context())
	store.write(stateOf(append(nested, configMapB)...))
	before := store.keys()
	const want = "nothing was restored: a restore replaces all keys below /registry in etcd, and another control plane has its own below /registry/team-b"
	if _, err := s.Reset(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if diff := cmp.Diff(before, store.keys()); diff != "" {
		t.Errorf("keys after a refused reset (-want +got):\n%s", diff)
	}
	store.write(stateOf(configMapB))
	if _, err := s.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{configMapA}, store.keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// The controllers may still be at their first work when the start is over. What they write
// then belongs to the state of the start, unless a client has changed something before.
func TestResetKeepsTheFirstWorkOfTheControllers(t *testing.T) {
	for name, test := range map[string]struct {
		changeFirst bool
		want        []string
	}{
		"settled":               {false, []string{configMapA, configMapB}},
		"changed while at work": {true, []string{configMapA}},
	} {
		t.Run(name, func(t *testing.T) {
			store := newFakeStore()
			cfg := (&parts{}).config(newTarget(t), store)
			firstWork, settled := make(chan struct{}), make(chan struct{})
			cfg.WaitSettled = func(ctx context.Context) error {
				select {
				case <-firstWork:
					close(settled)
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			s := newStartedService(t, cfg)
			store.write(stateOf(configMapA))
			if test.changeFirst {
				s.BeforeChange(t.Context())
			}
			store.write(stateOf(configMapA, configMapB))
			close(firstWork)
			if !test.changeFirst {
				<-settled
				<-s.unchanged.Done()
			}
			store.write(stateOf("/configmaps/default/c"))
			if _, err := s.Reset(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, store.keys()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
}

// A client may go away right after its first request, which changes something all the same.
func TestCanceledFirstChangeEndsTheStart(t *testing.T) {
	store := newFakeStore()
	cfg := (&parts{}).config(newTarget(t), store)
	cfg.WaitSettled = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	s := newStartedService(t, cfg)
	store.write(stateOf(configMapA)) // by a controller
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	s.BeforeChange(gone)
	store.write(stateOf(configMapA, configMapB))
	if _, err := s.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{configMapA}, store.keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// An etcd cluster that does not answer holds up the first request for a while only.
func TestFirstChangeWithoutStore(t *testing.T) {
	target := newTarget(t)
	synctest.Test(t, func(t *testing.T) {
		store := newFakeStore()
		cfg := (&parts{}).config(target, store)
		cfg.WaitSettled = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		s := newStartedService(t, cfg)
		store.gone = true
		began := time.Now()
		s.BeforeChange(t.Context())
		if took := time.Since(began); took != revisionTimeout {
			t.Errorf("took %v, want %v", took, revisionTimeout)
		}
	})
}

// A control plane whose controllers never settle has a state of the start, too.
func TestFirstWorkOfTheControllersIsBounded(t *testing.T) {
	target := newTarget(t)
	synctest.Test(t, func(t *testing.T) {
		store := newFakeStore(configMapA)
		cfg := (&parts{}).config(target, store)
		cfg.WaitSettled = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		s := New(cfg)
		defer s.Close()
		if err := s.Started(t.Context()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := s.Reset(t.Context()); err != nil || time.Since(began) != startStateDelay {
			t.Errorf("got %v after %v, want success after %v", err, time.Since(began), startStateDelay)
		}
	})
}

// The state of the start may be large: what does not need it does not wait for it, and what
// does can be canceled.
func TestReadOfTheStartStateHoldsUpNothingElse(t *testing.T) {
	target := newTarget(t)
	synctest.Test(t, func(t *testing.T) {
		store := newFakeStore(configMapA)
		s := newStartedService(t, (&parts{}).config(target, store))
		s.BeforeChange(t.Context())
		store.write(stateOf(configMapB))
		var reading atomic.Bool
		store.beforeRead = func(ctx context.Context, revision int64) error {
			if revision == 0 {
				return nil // the newest state, which is not large
			}
			reading.Store(true)
			<-ctx.Done()
			return ctx.Err()
		}
		long, cancelRead := context.WithCancel(t.Context())
		defer cancelRead()
		reset := func(ctx context.Context) <-chan error {
			ended := make(chan error, 1)
			go func() {
				_, err := s.Reset(ctx)
				ended <- err
			}()
			return ended
		}
		first := reset(long)
		synctest.Wait()
		if !reading.Load() {
			t.Fatal("the state of the start is not being read")
		}
		canceled, cancel := context.WithCancel(t.Context())
		second := reset(canceled)
		cancel()
		if err := <-second; !errors.Is(err, context.Canceled) {
			t.Errorf("second reset: got %v, want %v", err, context.Canceled)
		}
		if _, err := s.Save(t.Context()); err != nil {
			t.Error(err)
		}
		cancelRead()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("first reset: got %v, want %v", err, context.Canceled)
		}
	})
}

func TestStateOfTheStartIsReadLater(t *testing.T) {
	target := newTarget(t)
	synctest.Test(t, func(t *testing.T) {
		store := newFakeStore(configMapA)
		s := New((&parts{}).config(target, store))
		defer s.Close()
		if err := s.Started(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.BeforeChange(t.Context())
		store.write(stateOf(configMapB))
		time.Sleep(startStateDelay - time.Nanosecond)
		synctest.Wait()
		if reads := store.readRevisions(); len(reads) > 0 {
			t.Errorf("revisions %v were read before the delay was over", reads)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if diff := cmp.Diff([]int64{1}, store.readRevisions()); diff != "" {
			t.Errorf("read revisions (-want +got):\n%s", diff)
		}
	})
}

// TestCloseEndsTheBackgroundRead relies on goleak and on synctest, which fails if a
// goroutine of the bubble is left.
func TestCloseEndsTheBackgroundRead(t *testing.T) {
	target := newTarget(t)
	synctest.Test(t, func(t *testing.T) {
		store := newFakeStore()
		s := New((&parts{}).config(target, store))
		if err := s.Started(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Error(err)
		}
		if reads := store.readRevisions(); len(reads) > 0 {
			t.Error("Close has read the state")
		}
	})
}
