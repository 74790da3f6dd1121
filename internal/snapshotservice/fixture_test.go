package snapshotservice

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/informersync"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Main(m)) }

// fakeStore is a Store in memory.
type fakeStore struct {
	mu          sync.Mutex
	states      []snapshot.State // by revision, from 1
	reads       []int64          // the revisions that were asked for
	failures    []error          // of the next calls of ReplaceState; nil = succeed
	beforeRest  func()           // before an interrupted restore is finished
	onReplace   func()
	beforeRead  func(ctx context.Context, revision int64) error // nil = nothing
	gone        bool                                            // ReplaceState does not return before its context ends
	cluster     string                                          // its ID; empty = embedded
	records     map[string]string
	recordError error // of reading a record
	keepRecords bool  // DeleteRecord fails
	compacted   int64 // changes up to this revision are not known
	room        int   // bytes that may be written at once; 0 = any
	full        bool  // more was to be written: all writes are refused
}

var errFull = errors.New("the disk is full")

// admit needs the lock.
func (s *fakeStore) admit(plan snapshot.Plan) error {
	bytes := 0
	for changes := range plan.Changes() {
		for _, change := range changes {
			bytes += len(change.Value)
		}
	}
	s.full = s.full || s.room > 0 && bytes > s.room
	if s.full && !plan.IsEmpty() {
		return errFull
	}
	return nil
}

func (s *fakeStore) CheckSpace(now, want snapshot.State) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.admit(snapshot.NewPlan(now, want))
}

func (s *fakeStore) ClusterID(context.Context, string) (string, error) { return s.cluster, nil }

func (s *fakeStore) PutRecord(_ context.Context, key, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[key] = value
	return nil
}

func (s *fakeStore) Record(_ context.Context, key string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[key], s.recordError
}

func (s *fakeStore) DeleteRecord(_ context.Context, key, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keepRecords {
		return errors.New("no answer")
	}
	if s.records[key] == value {
		delete(s.records, key)
	}
	return nil
}

// EachChange has each change between two revisions.
func (s *fakeStore) EachChange(_ context.Context, _, _ string, since int64, f func(etcd.Change) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since < s.compacted {
		return etcd.ErrCompacted
	}
	for i := max(since, 1); i < int64(len(s.states)); i++ {
		plan := snapshot.NewPlan(s.states[i-1], s.states[i])
		for _, change := range slices.Concat(plan.Updates, plan.Deletes, plan.Puts) {
			c := etcd.Change{Key: change.Key, Value: change.Value}
			if e := entryOf(s.states[i-1], change.Key); e != nil {
				c.Before = e.Value
			}
			if !f(c) {
				return nil
			}
		}
	}
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

func (s *fakeStore) Revision(ctx context.Context, _ string) (int64, error) {
	if s.gone {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.states)), nil
}

func (s *fakeStore) ReadState(ctx context.Context, prefix string, revision int64) (snapshot.State, error) {
	if s.beforeRead != nil {
		if err := s.beforeRead(ctx, revision); err != nil {
			return snapshot.State{}, err
		}
	}
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

// WriteDifferences fails if anything was written since now.
func (s *fakeStore) WriteDifferences(ctx context.Context, prefix string, now, want snapshot.State) (etcd.WriteResult, error) {
	if s.beforeRest != nil {
		s.beforeRest()
	}
	if revision, err := s.Revision(ctx, prefix); err != nil || revision != now.Revision {
		return etcd.WriteResult{}, errors.Join(err, etcd.ErrConcurrentWrite)
	}
	return s.ReplaceState(ctx, prefix, want)
}

func (s *fakeStore) ReplaceState(ctx context.Context, _ string, want snapshot.State) (done etcd.WriteResult, err error) {
	if s.gone {
		<-ctx.Done()
		return done, ctx.Err()
	}
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
	if err := s.admit(plan); err != nil {
		return done, err
	}
	done.Counts, done.Revisions, done.Deletions = plan.Counts, map[string]int64{}, map[string]int64{}
	if plan.Total() > 0 {
		s.set(want)
	}
	done.Revision = int64(len(s.states))
	for _, change := range plan.Deletes {
		done.Deletions[change.Key], done.Revisions[change.Key] = done.Revision-1, done.Revision-1
	}
	for _, change := range slices.Concat(plan.Updates, plan.Puts) {
		done.Revisions[change.Key] = done.Revision
	}
	return done, nil
}

// newTarget returns a data folder with a key for service account tokens.
func newTarget(t *testing.T) Target {
	t.Helper()
	dir, err := datadir.Open(t.Context(), filepath.Join(t.TempDir(), "data"), 1)
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
	testutil.WriteFile(t, dir.Join("pki", "sa.pub"), "key")
	return Target{Dir: dir, Prefix: "/registry", ControlPlane: "test", Versions: Versions{Kubernetes: "v1.37.1"}}
}

// Save returns the state of a store at a revision as a snapshot file; 0 = the newest.
func (t Target) Save(ctx context.Context, store Store, revision int64) ([]byte, error) {
	state, err := store.ReadState(ctx, t.Prefix, revision)
	if err != nil {
		return nil, err
	}
	return t.Encode(state)
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

// resume is what resumes a part: it releases it without a start if the context has ended.
func (p *parts) resume(ctx context.Context, part string) error {
	if ctx.Err() != nil {
		p.call("abandon " + part)
		return context.Cause(ctx)
	}
	p.call("resume " + part)
	return nil
}

func (p *parts) config(target Target, store *fakeStore) Config {
	store.onReplace = func() { p.call("write") }
	return Config{
		Target: target,
		Store:  store,
		SuspendNodes: func() (func(context.Context) error, error) {
			p.call("suspend nodes")
			return func(ctx context.Context) error { return p.resume(ctx, "nodes") }, nil
		},
		SuspendControllers: func() (func(context.Context, bool) error, error) {
			p.call("suspend controllers")
			return func(ctx context.Context, _ bool) error { return p.resume(ctx, "controllers") }, nil
		},
		BlockWrites: func(context.Context) (func(bool), error) {
			p.call("block writes")
			return func(restored bool) {
				if !restored {
					p.call("let writes go on")
					return
				}
				p.call("release writes")
			}, nil
		},
		EstablishPolicy: func(context.Context) error {
			p.call("establish policy")
			return nil
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
		Restored:    func(string, bool) { p.call("report") },
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
