package snapshotservice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/informersync"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeStore is a Store in memory.
type fakeStore struct {
	mu        sync.Mutex
	states    []snapshot.State // by revision, from 1
	reads     []int64          // the revisions that were asked for
	failures  []error          // of the next calls of ReplaceState; nil = succeed
	onReplace func()
	cluster   string // its ID; empty = embedded
	records   map[string]string
}

func (s *fakeStore) ClusterID(context.Context) (string, error) { return s.cluster, nil }

func (s *fakeStore) PutRecord(_ context.Context, key, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[key] = value
	return nil
}

func (s *fakeStore) Record(_ context.Context, key string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[key], nil
}

func (s *fakeStore) DeleteRecord(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, key)
	return nil
}

// newFakeStore returns a store at revision 1.
func newFakeStore(keys ...string) *fakeStore {
	s := &fakeStore{records: map[string]string{}}
	s.set(stateOf(keys...))
	return s
}

func stateOf(keys ...string) (state snapshot.State) {
	for _, key := range slices.Sorted(slices.Values(keys)) {
		state.Entries = append(state.Entries, snapshot.Entry{Key: key, Value: []byte(`{"metadata":{"uid":"` + key + `"}}`)})
	}
	return state
}

// write is what another client writes.
func (s *fakeStore) write(state snapshot.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(state)
}

// fail makes the next replacements fail, but those for which the error is nil.
func (s *fakeStore) fail(failures ...error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = failures
}

func (s *fakeStore) readRevisions() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reads)
}

// set needs the lock.
func (s *fakeStore) set(state snapshot.State) {
	state.Revision = int64(len(s.states) + 1)
	s.states = append(s.states, state)
}

func (s *fakeStore) keys() (keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.states[len(s.states)-1].Entries {
		keys = append(keys, e.Key)
	}
	return keys
}

func (s *fakeStore) Revision(context.Context) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.states)), nil
}

func (s *fakeStore) ReadState(_ context.Context, prefix string, revision int64) (snapshot.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if prefix != "/registry" {
		return snapshot.State{}, errors.New("wrong prefix " + prefix)
	}
	s.reads = append(s.reads, revision)
	if revision == 0 {
		revision = int64(len(s.states))
	}
	return s.states[revision-1], nil
}

func (s *fakeStore) ReplaceState(_ context.Context, _ string, want snapshot.State) (done etcd.WriteResult, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.onReplace != nil {
		s.onReplace()
	}
	if len(s.failures) > 0 {
		err, s.failures = s.failures[0], s.failures[1:]
	}
	if err != nil {
		return done, err
	}
	plan := snapshot.NewPlan(s.states[len(s.states)-1], want)
	done.Counts, done.Revisions = plan.Counts, map[string]int64{}
	if plan.Total() > 0 {
		s.set(want)
	}
	done.Revision = int64(len(s.states))
	for _, change := range slices.Concat(plan.Deletes, plan.Puts) {
		done.Revisions[change.Key] = done.Revision
	}
	return done, nil
}

// newTarget returns a data folder with a key for service account tokens.
func newTarget(t *testing.T) Target {
	t.Helper()
	dir, err := datadir.Open(filepath.Join(t.TempDir(), "data"), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := os.Mkdir(dir.Join("pki"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir.Join("pki", "sa.pub"), []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	return Target{Dir: dir, Prefix: "/registry", ControlPlane: "test", Versions: Versions{Kubernetes: "v1.37.1"}}
}

// parts stands for the other parts of a control plane, and records their calls and what is
// said to have changed.
type parts struct {
	mu      sync.Mutex
	calls   []string
	changed []Change
}

func (p *parts) call(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, name)
}

func (p *parts) config(target Target, store *fakeStore) Config {
	store.onReplace = func() { p.call("write") }
	return Config{
		Target: target,
		Store:  store,
		SuspendNodes: func() (func(context.Context) error, error) {
			p.call("suspend nodes")
			return func(context.Context) error { p.call("resume nodes"); return nil }, nil
		},
		SuspendControllers: func() (func(bool) error, error) {
			p.call("suspend controllers")
			return func(bool) error { p.call("resume controllers"); return nil }, nil
		},
		BlockWrites: func(context.Context) (func(), error) {
			p.call("block writes")
			return func() { p.call("release writes") }, nil
		},
		WaitInformers: []func(context.Context, informersync.Revisions) error{
			func(_ context.Context, written informersync.Revisions) error {
				if written["configmaps"] == 0 {
					return errors.New("the revision of the ConfigMaps is missing")
				}
				p.call("wait for informers")
				return nil
			},
		},
		WaitSettled: func(context.Context) error { return nil },
		Client:      &rest.Config{},
		Changed:     func(list []Change) { p.changed = append(p.changed, list...) },
		Restored:    func(string) { p.call("report") },
		Logger:      slog.New(slog.DiscardHandler),
	}
}

func newStartedService(t *testing.T, cfg Config) *Service {
	t.Helper()
	s := New(cfg)
	t.Cleanup(func() { s.Close() })
	if err := s.Started(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

const configMapA, configMapB = "/configmaps/default/a", "/configmaps/default/b"

func TestServiceRefusesCallsUntilStarted(t *testing.T) {
	s := New((&parts{}).config(newTarget(t), newFakeStore()))
	defer s.Close()
	_, saveErr := s.Save(t.Context())
	_, restoreErr := s.Restore(t.Context(), nil)
	_, resetErr := s.Reset(t.Context())
	for _, err := range []error{saveErr, restoreErr, resetErr} {
		if !errors.Is(err, errNotReady) {
			t.Errorf("got %v, want %v", err, errNotReady)
		}
	}
}

func TestRestoreStopsTheOtherPartsInOrder(t *testing.T) {
	p, target, store := &parts{}, newTarget(t), newFakeStore(configMapA)
	s := newStartedService(t, p.config(target, store))
	file, err := s.Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store.write(stateOf(configMapB))
	store.onReplace = func() {
		p.call("write")
		if !s.IsRestoring() {
			t.Error("writes, and is not restoring")
		}
	}
	done, err := s.Restore(t.Context(), file)
	if err != nil || done.Created != 1 || done.Deleted != 1 || done.Revision != 3 {
		t.Errorf("got %+v, %v; want 1 created, 1 deleted, revision 3", done, err)
	}
	if diff := cmp.Diff([]string{configMapA}, store.keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	want := []string{
		"suspend nodes", "suspend controllers", "block writes", "write", "wait for informers",
		"write", // again, for late writes
		"release writes", "resume controllers", "resume nodes", "report",
	}
	if diff := cmp.Diff(want, p.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(target.pendingPath()); !os.IsNotExist(err) {
		t.Errorf("pending file: %v, want that it was removed", err)
	}
	var changed []string
	for _, c := range p.changed {
		changed = append(changed, fmt.Sprintf("%s %s deleted: %v", c.Key.Object, c.Value, c.Deleted))
	}
	if diff := cmp.Diff([]string{`default/a {"metadata":{"uid":"/configmaps/default/a"}} deleted: false`, `default/b {"metadata":{"uid":"/configmaps/default/b"}} deleted: true`}, changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
}

// A write that was canceled in the store, after the requests in flight had ended, may land
// while the informers are awaited.
func TestRestoreRemovesLateWrites(t *testing.T) {
	store := newFakeStore(configMapA)
	cfg := (&parts{}).config(newTarget(t), store)
	landed := 0
	cfg.WaitInformers = append(cfg.WaitInformers, func(context.Context, informersync.Revisions) error {
		if landed++; landed == 1 {
			store.write(stateOf(configMapA, configMapB))
		}
		return nil
	})
	s := newStartedService(t, cfg)
	file, err := s.Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store.write(stateOf())
	if _, err := s.Restore(t.Context(), file); err != nil || landed != 2 {
		t.Errorf("%v; the informers were awaited %d times, want 2", err, landed)
	}
	if diff := cmp.Diff([]string{configMapA}, store.keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func TestRestoreRollsBackAfterFailure(t *testing.T) {
	failure := errors.New("no space left")
	for _, tt := range []struct {
		name     string
		failures []error
		want     string
		pending  bool
	}{
		{"the first write fails", []error{failure}, "nothing was restored: no space left", false},
		{"the second write fails", []error{nil, failure}, "nothing was restored: no space left", false},
		{"the rollback fails, too", []error{failure, failure}, "only a part was restored, the next start restores the rest: no space left", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, target, store := &parts{}, newTarget(t), newFakeStore(configMapA)
			s := newStartedService(t, p.config(target, store))
			file, err := s.Save(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			store.write(stateOf(configMapB))
			store.fail(tt.failures...)
			if _, err := s.Restore(t.Context(), file); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if diff := cmp.Diff([]string{configMapB}, store.keys()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			if _, err := os.Stat(target.pendingPath()); (err == nil) != tt.pending {
				t.Errorf("pending file: %v, want that it exists: %v", err, tt.pending)
			}
			if last := p.calls[len(p.calls)-2]; last != "resume nodes" {
				t.Errorf("calls %q, want that all parts were resumed", p.calls)
			}
		})
	}
}

func TestDescribeRestore(t *testing.T) {
	done := func(created int) control.RestoreResult {
		return control.RestoreResult{ObjectCounts: control.ObjectCounts{Created: created}, Took: 42 * time.Millisecond}
	}
	for want, got := range map[string]string{
		"a snapshot was restored: 1 object changed, controllers restarted after 42ms":       describeRestore(done(1), nil),
		"a snapshot was restored: 2 objects changed, controllers restarted after 42ms":      describeRestore(done(2), nil),
		"a snapshot could not be restored, controllers restarted after 42ms: no space left": describeRestore(done(0), errors.New("no space left")),
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestRestoreRefusals(t *testing.T) {
	p, store := &parts{}, newFakeStore(configMapA)
	cfg := p.config(newTarget(t), store)
	s := newStartedService(t, cfg)
	file, err := s.Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Restore(t.Context(), []byte("other")); err == nil || !strings.Contains(err.Error(), "the snapshot is refused: it is not a snapshot") {
		t.Errorf("other file: got %v", err)
	}
	s.restoring.Store(true)
	if _, err := s.Restore(t.Context(), file); !errors.Is(err, errRestoreRunning) {
		t.Errorf("second restore: got %v, want %v", err, errRestoreRunning)
	}
	s.restoring.Store(false)
	cfg.SharedStore = true
	if _, err := newStartedService(t, cfg).Restore(t.Context(), file); err == nil || !strings.Contains(err.Error(), "--leader-elect") {
		t.Errorf("shared store: got %v", err)
	}
	if len(p.calls) > 0 {
		t.Errorf("calls %q, want none", p.calls)
	}
}

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

func TestFinishPendingRestoresAnInterruptedRestore(t *testing.T) {
	target, store := newTarget(t), newFakeStore(configMapA)
	file, err := target.Save(t.Context(), store, 0)
	if err != nil {
		t.Fatal(err)
	}
	store.fail(errors.New("killed"))
	want, err := target.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	store.write(stateOf(configMapB))
	if _, err := target.Replace(t.Context(), store, file, want); err == nil {
		t.Fatal("the restore was not interrupted")
	}
	// Any other store would lose everything that the snapshot does not hold.
	shared := newFakeStore(configMapB)
	shared.cluster = "cdf818194e3a8c32"
	elsewhere := target
	elsewhere.Prefix = "/other"
	for _, other := range []error{target.FinishPending(t.Context(), shared), elsewhere.FinishPending(t.Context(), store)} {
		if other == nil || !strings.Contains(other.Error(), "an interrupted restore into the embedded etcd, below /registry cannot be finished in ") || !strings.Contains(other.Error(), "remove "+target.pendingPath()) {
			t.Errorf("in another store: got %v", other)
		}
	}
	if diff := cmp.Diff([]string{configMapB}, shared.keys()); diff != "" {
		t.Errorf("keys of the other store (-want +got):\n%s", diff)
	}
	for range 2 { // the second time there is nothing to finish
		if err := target.FinishPending(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{configMapA}, store.keys()); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
	}
	if err := os.WriteFile(target.pendingPath(), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := target.FinishPending(t.Context(), store); err == nil || !strings.Contains(err.Error(), "remove "+target.pendingPath()) {
		t.Errorf("damaged file: got %v, want the way out", err)
	}
}

// writeSnapshot returns the path of a snapshot that holds configMapA.
func writeSnapshot(t *testing.T) (path string) {
	t.Helper()
	file, err := newTarget(t).Save(t.Context(), newFakeStore(configMapA), 0)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInitialSnapshotOfTheEmbeddedEtcd(t *testing.T) {
	path, empty, target := writeSnapshot(t), newFakeStore(), newTarget(t)
	if err := errors.Join(target.PlaceInitial(path), target.FinishPending(t.Context(), empty)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{configMapA}, empty.keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if err := target.PlaceInitial(path + ".missing"); err == nil {
		t.Error("a missing file was accepted")
	}
	if err := os.MkdirAll(target.Dir.Join("etcd", "member"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := target.PlaceInitial(path); err == nil || !strings.Contains(err.Error(), "holds a control plane already") {
		t.Errorf("data folder with etcd: got %v", err)
	}
}

func TestInitialSnapshotOfACluster(t *testing.T) {
	path, target := writeSnapshot(t), newTarget(t)
	used, empty := newFakeStore(configMapB), newFakeStore()
	used.cluster, empty.cluster = "1", "2"
	if err := target.RestoreInitial(t.Context(), used, path); err == nil || !strings.Contains(err.Error(), "the etcd cluster holds a control plane already") {
		t.Errorf("cluster with objects: got %v", err)
	}
	empty.failures = []error{errors.New("killed")}
	if err := target.RestoreInitial(t.Context(), empty, path); err == nil {
		t.Fatal("the restore was not interrupted")
	}
	if err := target.FinishPending(t.Context(), used); err == nil || !strings.Contains(err.Error(), "into etcd cluster 2, below /registry cannot be finished in etcd cluster 1, below /registry") {
		t.Errorf("another cluster: got %v", err)
	}
	if err := target.FinishPending(t.Context(), empty); err != nil {
		t.Error(err)
	}
	for want, store := range map[string]*fakeStore{configMapA: empty, configMapB: used} {
		if diff := cmp.Diff([]string{want}, store.keys()); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
	}
}
