package etcd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

// forEachStore runs a test with both kinds of Server and a client of each.
func forEachStore(t *testing.T, test func(*testing.T, *Server, *clientv3.Client)) {
	t.Run("embedded", func(t *testing.T) {
		s := startServer(t, Config{Dir: t.TempDir(), NoSync: true})
		test(t, s, dialEmbedded(t, s))
	})
	t.Run("external", func(t *testing.T) {
		files := newTestFiles(t)
		s := startServer(t, Config{Endpoints: []string{startCluster(t, files)}, CAFile: files.ca, CertFile: files.cert, KeyFile: files.key})
		c, err := s.Client()
		must(t, err)
		t.Cleanup(func() { must(t, c.Close()) })
		test(t, s, c)
	})
}

const prefix = "/registry"

func readStateAt(t *testing.T, s *Server, revision int64) snapshot.State {
	t.Helper()
	state, err := s.ReadState(testContext(t), prefix, revision)
	must(t, err)
	return state
}

// All entries below the prefix, and no others, are read page by page at one revision.
func TestReadState(t *testing.T) {
	forEachStore(t, func(t *testing.T, s *Server, c *clientv3.Client) {
		const keys = pageSize + 1
		for i := range keys {
			putKey(t, c, fmt.Sprintf("%s/k/%05d", prefix, i), "old")
		}
		putKey(t, c, prefix+"-other", "x")
		putKey(t, c, "compact_rev_key", "x")
		at, err := s.Revision(testContext(t), prefix)
		must(t, err)
		putKey(t, c, prefix+"/k/00000", "new")
		putKey(t, c, prefix+"/z", "new")

		old := readStateAt(t, s, at)
		if len(old.Entries) != keys || old.Revision != at || string(old.Entries[0].Value) != "old" || old.Entries[0].Key != "/k/00000" {
			t.Errorf("%d entries at %d, first %+v", len(old.Entries), old.Revision, old.Entries[0])
		}
		now := readStateAt(t, s, 0)
		if len(now.Entries) != keys+1 || now.Revision != at+2 || string(now.Entries[0].Value) != "new" || now.Entries[0].Revision != at+1 {
			t.Errorf("%d entries at %d, first %+v", len(now.Entries), now.Revision, now.Entries[0])
		}
		if _, err := c.Compact(testContext(t), at+1); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ReadState(testContext(t), prefix, at); err == nil || !strings.Contains(err.Error(), "compacted") {
			t.Errorf("compacted: %v", err)
		}
	})
}

// Any state can be replaced by any other, and no watch sees the UID of an object change
// without a deletion.
func TestReplaceStateRandom(t *testing.T) {
	forEachStore(t, func(t *testing.T, s *Server, c *clientv3.Client) {
		random := rand.New(rand.NewPCG(3, 4))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		watch := c.Watch(ctx, prefix+"/", clientv3.WithPrefix(), clientv3.WithPrevKV())
		var last WriteResult
		deletions := map[string]bool{}
		for range 30 {
			var want snapshot.State
			for i := range 300 {
				if random.IntN(3) > 0 {
					value := fmt.Appendf(nil, `{"metadata":{"uid":"%d"},"v":%d}`, random.IntN(2), random.IntN(2))
					want.Entries = append(want.Entries, snapshot.Entry{Key: fmt.Sprintf("/pods/ns/%03d", i), Value: value})
				}
			}
			before := readStateAt(t, s, 0)
			done, err := s.ReplaceState(testContext(t), prefix, want)
			must(t, err)
			got := readStateAt(t, s, 0)
			if diff := cmp.Diff(want.Entries, got.Entries, cmpopts.IgnoreFields(snapshot.Entry{}, "Revision")); diff != "" {
				t.Fatalf("-want +got:\n%s", diff)
			}
			if plan := snapshot.NewPlan(before, want); done.Counts != plan.Counts || done.Revision != got.Revision {
				t.Errorf("done %+v, planned %+v, at %d", done, plan.Counts, got.Revision)
			}
			for key, revision := range done.Revisions {
				if i := slices.IndexFunc(got.Entries, func(e snapshot.Entry) bool { return e.Key == key }); i >= 0 && got.Entries[i].Revision != revision {
					t.Errorf("%s was written at %d, not %d", key, got.Entries[i].Revision, revision)
				}
			}
			for key, revision := range done.Deletions {
				deletions[fmt.Sprint(prefix, key, revision)] = true
			}
			last = done
		}
		var seen int64
		for seen < last.Revision {
			select {
			case r := <-watch:
				for _, e := range r.Events {
					if deletion := fmt.Sprint(string(e.Kv.Key), e.Kv.ModRevision); deletions[deletion] != (e.Type == clientv3.EventTypeDelete) {
						t.Errorf("%s: the event is a %s", deletion, e.Type)
					}
					if seen = e.Kv.ModRevision; !e.IsModify() {
						continue
					}
					_, was, _ := snapshot.Identify(e.PrevKv.Value)
					if _, is, _ := snapshot.Identify(e.Kv.Value); is != was {
						t.Fatalf("%s became another object", e.Kv.Key)
					}
				}
			case <-testContext(t).Done():
				t.Fatalf("seen %d of %d", seen, last.Revision)
			}
		}
	})
}

// A watch that goes on after the revision of any event misses nothing: each object is
// written at a revision of its own.
func TestReplaceStateWritesOneObjectPerRevision(t *testing.T) {
	s := startServer(t, Config{Dir: t.TempDir(), NoSync: true})
	c := dialEmbedded(t, s)
	var want snapshot.State
	for i := range 300 {
		want.Entries = append(want.Entries, snapshot.Entry{Key: fmt.Sprintf("/configmaps/ns/%03d", i), Value: []byte(`{"metadata":{"uid":"a"}}`)})
	}
	want.Entries = append(want.Entries, snapshot.Entry{Key: "/namespaces/ns", Value: []byte(`{"metadata":{"uid":"b"}}`)})
	before, err := s.Revision(testContext(t), prefix)
	must(t, err)
	done, err := s.ReplaceState(testContext(t), prefix, want)
	must(t, err)
	seen := map[int64]string{}
	for key, revision := range done.Revisions {
		if other, taken := seen[revision]; taken {
			t.Fatalf("%s and %s were both written at revision %d", other, key, revision)
		}
		seen[revision] = key
	}
	if len(seen) != len(want.Entries) || seen[before+1] != "/namespaces/ns" {
		t.Errorf("%d of %d objects, first %s", len(seen), len(want.Entries), seen[before+1])
	}
	watch := c.Watch(testContext(t), prefix+"/", clientv3.WithPrefix(), clientv3.WithRev(before+101))
	missing := len(want.Entries) - 100
	for r := range watch {
		if missing -= len(r.Events); missing <= 0 {
			break
		}
	}
	if missing != 0 {
		t.Errorf("a watch that goes on after 100 events got all others but %d", missing)
	}
}

// Entries with a time to live keep it.
func TestReplaceStateKeepsTTL(t *testing.T) {
	forEachStore(t, func(t *testing.T, s *Server, c *clientv3.Client) {
		lease, err := c.Grant(testContext(t), 1000)
		must(t, err)
		for _, key := range []string{"a", "b"} {
			if _, err := c.Put(testContext(t), prefix+"/events/ns/"+key, "x", clientv3.WithLease(lease.ID)); err != nil {
				t.Fatal(err)
			}
		}
		saved := readStateAt(t, s, 0)
		if len(saved.TTLs) != 1 || saved.TTLs[0] > 1000*time.Second || saved.TTLs[0] < 900*time.Second || saved.Entries[1].TTL != 1 {
			t.Fatalf("TTLs: %v, %+v", saved.TTLs, saved.Entries)
		}
		if _, err := c.Delete(testContext(t), prefix, clientv3.WithPrefix()); err != nil {
			t.Fatal(err)
		}
		saved.TTLs[0] = 500 * time.Second
		if _, err := s.ReplaceState(testContext(t), prefix, saved); err != nil {
			t.Fatal(err)
		}
		again := readStateAt(t, s, 0)
		if len(again.TTLs) != 1 || again.TTLs[0] > 501*time.Second || again.TTLs[0] < 400*time.Second || len(again.Entries) != 2 {
			t.Errorf("TTLs: %v", again.TTLs)
		}
	})
}

// remainingLease is a lease with that many whole seconds left.
type remainingLease struct {
	clientv3.Lease
	seconds int64
}

func (l remainingLease) TimeToLive(context.Context, clientv3.LeaseID, ...clientv3.LeaseOption) (*clientv3.LeaseTimeToLiveResponse, error) {
	return &clientv3.LeaseTimeToLiveResponse{TTL: l.seconds}, nil
}

// A key is there until etcd removes it: without it, the state differs from what is stored.
func TestStateHasKeysWhoseLeaseEnds(t *testing.T) {
	for _, seconds := range []int64{0, -1} {
		var state snapshot.State
		index, err := leaseTTL(t.Context(), &clientv3.Client{Lease: remainingLease{seconds: seconds}}, 7, map[clientv3.LeaseID]int{}, &state)
		if err != nil || index != 1 || len(state.TTLs) != 1 || state.TTLs[0] != time.Second {
			t.Errorf("%d s left: got index %d of %v, %v; want 1 of 1 s", seconds, index, state.TTLs, err)
		}
	}
}

// ReplaceState retries after a concurrent write, and never overwrites it unseen.
func TestReplaceStateWithConcurrentWrites(t *testing.T) {
	s := startServer(t, Config{Dir: t.TempDir(), NoSync: true})
	c := dialEmbedded(t, s)
	want := snapshot.State{Entries: []snapshot.Entry{{Key: "/pods/ns/p", Value: []byte(`{"v":0}`)}}}
	w := func(interfere func()) error {
		done := newWriteResult()
		return s.withClient(testContext(t), func(ctx context.Context, client *clientv3.Client) error {
			now, err := readState(ctx, client, prefix, 0)
			must(t, err)
			interfere()
			return s.newStateWriter(ctx, client, prefix, want, &done).commitPlan(snapshot.NewPlan(now, want))
		})
	}
	if err := w(func() { putKey(t, c, prefix+"/pods/ns/p", `{"v":1}`) }); !errors.Is(err, ErrConcurrentWrite) {
		t.Errorf("overwrote a write that it had not read: %v", err)
	}
	if v, _ := getKey(t, c, prefix+"/pods/ns/p"); v != `{"v":1}` {
		t.Errorf("got %s", v)
	}
	if _, err := s.ReplaceState(testContext(t), prefix, want); err != nil {
		t.Error(err)
	}

	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	if _, err := s.ReplaceState(ctx, prefix, snapshot.State{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// WriteDifferences overwrites and deletes nothing that was written after the state was read.
func TestWriteDifferencesKeepsConcurrentWrites(t *testing.T) {
	forEachStore(t, func(t *testing.T, s *Server, c *clientv3.Client) {
		putKey(t, c, prefix+"/pods/ns/p", `{"v":0}`)
		now, want := readStateAt(t, s, 0), snapshot.State{Entries: []snapshot.Entry{{Key: "/pods/ns/q", Value: []byte(`{"v":2}`)}}}
		putKey(t, c, prefix+"/pods/ns/new", `{"v":1}`)
		_, err := s.WriteDifferences(testContext(t), prefix, now, want)
		must(t, err)
		now = readStateAt(t, s, 0)
		putKey(t, c, prefix+"/pods/ns/q", `{"v":1}`)
		want.Entries[0].Value = []byte(`{"v":3}`)
		if _, err := s.WriteDifferences(testContext(t), prefix, now, want); !errors.Is(err, ErrConcurrentWrite) {
			t.Errorf("got %v, want %v", err, ErrConcurrentWrite)
		}
		if v, _ := getKey(t, c, prefix+"/pods/ns/q"); v != `{"v":1}` {
			t.Errorf("the concurrent write was replaced by %s", v)
		}
	})
}

// Objects of the maximum size can be written.
func TestReplaceStateWithLargeObjects(t *testing.T) {
	s := startServer(t, Config{Dir: t.TempDir(), NoSync: true})
	var want snapshot.State
	for i := range 5 {
		value := fmt.Appendf(nil, `{"v":%q}`, strings.Repeat(fmt.Sprint(i), 1400<<10))
		want.Entries = append(want.Entries, snapshot.Entry{Key: fmt.Sprintf("/configmaps/ns/%d", i), Value: value})
	}
	if done, err := s.ReplaceState(testContext(t), prefix, want); err != nil || done.Created != 5 {
		t.Fatalf("%+v, %v", done, err)
	}
	if got := readStateAt(t, s, 0); len(got.Entries) != 5 || len(got.Entries[4].Value) != len(want.Entries[4].Value) {
		t.Error("objects are missing or truncated")
	}
}

// Reading a closed store fails without waiting.
func TestReadStateAfterClose(t *testing.T) {
	s := startServer(t, Config{Dir: t.TempDir(), NoSync: true})
	closeServer(t, s)
	if _, err := s.ReadState(testContext(t), prefix, 0); err == nil {
		t.Error("got no error")
	}
}
