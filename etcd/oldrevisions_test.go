package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestOldRevisionsAreRemovedByHowMuchWasWritten(t *testing.T) {
	var compacted []int64
	o := &oldRevisions{compact: func(_ context.Context, revision int64) error {
		compacted = append(compacted, revision)
		return nil
	}}
	begin := time.Now()
	look := func(seconds int, mib int64) {
		t.Helper()
		now := moment{at: begin.Add(time.Duration(seconds) * time.Second), revision: int64(100 + seconds), written: mib << 20}
		if err := o.look(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, revisions ...int64) {
		t.Helper()
		if fmt.Sprint(compacted) != fmt.Sprint(revisions) {
			t.Fatalf("%s: removed up to %d, want %d", when, compacted, revisions)
		}
	}
	for s := range 600 { // far less than maxOldBytes
		look(s, int64(s/60))
	}
	want("little was written")
	look(600, 500)
	const kept = int(keptRevisions / time.Second)
	look(599+kept, 500)
	want("what was written is not old enough")
	look(601+kept, 500)
	want("it is", 700)
	for s := 602; s < 700; s++ {
		look(s+kept, 500)
	}
	want("nothing was written since", 700)
	for s := 700; s < 800+kept; s++ {
		look(s+kept, 500+8*int64(s-699)) // 8 MiB a second
	}
	if n := len(compacted); n < 40 || n > 64 {
		t.Errorf("removed %d times while 800 MiB became old, want once for about 16 MiB", n)
	}
	if len(o.moments) > kept+2 {
		t.Errorf("%d moments are kept, want those of %v", len(o.moments), keptRevisions)
	}
}

// The server removes them, and the API server's own compaction to an earlier revision,
// which comes later, succeeds.
func TestOldRevisionsDoNotStay(t *testing.T) {
	s := startServer(t, Config{Dir: t.TempDir(), NoSync: true})
	s.member.stopWatch() // the test looks instead
	w := s.member.newSpaceWatch(s.cfg)
	c, err := s.Client()
	must(t, err)
	defer c.Close()
	value := strings.Repeat("v", 1<<20)
	now := time.Now()
	var first int64
	const writes = 150
	for range writes {
		r, err := c.Put(testContext(t), "k", value)
		must(t, err)
		if first == 0 {
			first = r.Header.Revision
		}
		now = now.Add(keptRevisions / 30)
		must(t, w.removeOldRevisions(t.Context(), now))
	}
	if _, err := c.Get(testContext(t), "k", clientv3.WithRev(first+writes/2)); !errors.Is(rpctypes.Error(err), rpctypes.ErrCompacted) {
		t.Errorf("an old revision: got %v, want that it was removed", err)
	}
	if _, err := c.Get(testContext(t), "k", clientv3.WithRev(first+writes-20)); err != nil {
		t.Errorf("a recent revision: %v", err)
	}
	if _, err := c.Compact(testContext(t), first); err != nil {
		t.Errorf("a compaction of what is removed already: %v", err)
	}
	await(t, "free pages in the database", func() bool {
		w.commitFreePages()
		return w.server.Backend().SizeInUse() < writes/2<<20
	})
}
