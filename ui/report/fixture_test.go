package report

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/ctrlplane/ctrlplane/observe"
)

var runStart = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// hostileTexts are names and messages that no output format may interpret.
var hostileTexts = []string{
	`</script><script>document.title="broken"</script>`, `<img src=x onerror=alert(1)>`, `"quoted" 'and' &amp; <!-- `, `${7*7} {{.}} ]]>`,
	"control \x00\x07\x1b[31m red\nnext line\r", "right \u202eto left\u202c \u2028 end", "\xff\xfe not UTF-8",
	"a-name-that-is-very-long-" + fmt.Sprintf("%0400d", 7), "עברית and العربية", "::error::injected %0A | `pipe` *bold* [link](http://example.com/)",
}

// fakeJournal is a source with records from the test.
type fakeJournal struct {
	mu      sync.Mutex
	records []observe.Record
	first   uint64 // Seq of the oldest kept record
	wake    chan struct{}
	now     observe.Snapshot
}

func newFakeJournal() *fakeJournal { return &fakeJournal{first: 1, wake: make(chan struct{})} }

func (j *fakeJournal) add(at time.Duration, e observe.Event) uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	seq := j.now.Journal.Last + 1
	j.now.Journal.Last = seq
	j.records = append(j.records, observe.Record{Seq: seq, Time: runStart.Add(at), Event: e})
	close(j.wake)
	j.wake = make(chan struct{})
	return seq
}

// dropOldest drops the oldest records.
func (j *fakeJournal) dropOldest(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records, j.first = j.records[n:], j.first+uint64(n)
}

func (j *fakeJournal) Records(_ context.Context, q observe.Query) (observe.Page, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	p := observe.Page{Next: j.now.Journal.Last}
	if q.After+1 < j.first {
		p.Missed = j.first - q.After - 1
	}
	for _, r := range j.records {
		if r.Seq > q.After && q.Match(&r) {
			p.Records = append(p.Records, r)
		}
	}
	return p, nil
}

func (j *fakeJournal) Snapshot(context.Context) (observe.Snapshot, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.now, nil
}

func (j *fakeJournal) Wait(ctx context.Context, after uint64) error {
	for {
		j.mu.Lock()
		last, wake := j.now.Journal.Last, j.wake
		j.mu.Unlock()
		if last > after {
			return nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// rolloutJournal returns a run of a few seconds with many syncs of several
// controllers, some of which fail.
func rolloutJournal(syncs int) *fakeJournal {
	j := newFakeJournal()
	at := time.Duration(0)
	for _, s := range []struct {
		name string
		took time.Duration
	}{{"data folder", 2}, {"certificates", 5}, {"options", 6}, {"API server", 610}, {"controllers", 240}, {"readiness", 9}} {
		at += s.took * time.Millisecond
		j.add(at, &observe.BootStep{Step: s.name, Took: s.took * time.Millisecond})
	}
	names := []string{"deployment", "replicaset", "endpointslice", "garbage-collector", "namespace", "job", "statefulset", "disruption", "serviceaccount", "resourcequota"}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range names {
		j.add(at, &observe.ControllerChanged{Controller: name + "-controller", State: "running"})
	}
	j.add(at, &observe.ControllerChanged{Controller: "broken-controller", State: "failed", Reason: hostileTexts[0]})
	for i := range syncs {
		at += time.Duration(rng.IntN(int(5*time.Second) / syncs))
		name := names[min(rng.IntN(len(names)), rng.IntN(len(names)))]
		by, key := name+"-controller", fmt.Sprintf("shop/web-%d", rng.IntN(40))
		s := &observe.Synced{
			Controller: by, Queue: name, ID: uint64(i + 1), Key: key, KeyBasis: observe.BasisLog,
			Waited: time.Duration(rng.ExpFloat64() * float64(20*time.Millisecond)), Took: time.Duration(rng.ExpFloat64() * float64(4*time.Millisecond)),
		}
		if i%7 == 0 {
			c := &observe.Called{
				Controller: by, Verb: []string{"create", "update", "patch", "delete"}[i%4], Status: 200, Took: s.Took / 2, Sync: s.ID,
				Object: observe.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "shop", Name: "web"},
			}
			switch {
			case i%91 == 0:
				c.Status, c.Conflict, c.Error = 409, true, `Operation cannot be fulfilled on replicasets.apps "web": the object has been modified`
				s.Error, s.Retried = c.Error, true
			case i%119 == 0:
				c.Status, c.Error = 403, hostileTexts[i%len(hostileTexts)]
			}
			s.Writes++
			j.add(at, c)
		}
		if i%500 == 3 {
			s.Key = hostileTexts[(i/500)%len(hostileTexts)]
		}
		j.add(at, s)
		if i%(syncs/5+1) == 0 {
			j.add(at, &observe.QueueChanged{Queue: "active", Controller: "scheduler", Depth: int64(rng.IntN(30)), MaxDepth: 40})
		}
	}
	j.add(at, &observe.QueueChanged{Queue: "active", Controller: "scheduler"})
	j.add(at, &observe.Logged{Controller: "job-controller", Level: 4, Message: hostileTexts[1], Attrs: []observe.Attr{{Key: "key", Value: hostileTexts[2]}}})
	j.now.Time = runStart.Add(at)
	j.now.Process = observe.Process{Version: "v0.4.0", Kubernetes: "v1.37.1"}
	for i, name := range names {
		j.now.Controllers = append(j.now.Controllers, observe.Controller{Name: name + "-controller", State: "running", Syncs: int64(syncs / (i + 1)), Changes: int64(syncs / 20), Reads: 40, Delivered: 900, Conflicts: int64(i)})
	}
	j.now.Controllers = append(j.now.Controllers, observe.Controller{Name: "broken-controller", State: "failed", Reason: hostileTexts[0]})
	return j
}

// parseObject parses YAML. An object without a UID gets one derived from its name.
func parseObject(t testing.TB, manifest string) unstructured.Unstructured {
	t.Helper()
	u := unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &u.Object); err != nil {
		t.Fatalf("%v in\n%s", err, manifest)
	}
	if u.GetUID() == "" {
		u.SetUID(types.UID("uid-of-" + u.GetName()))
	}
	return u
}

func emptyEnv(string) string { return "" }

// writeReport writes a report of a journal and returns its folder.
func writeReport(t testing.TB, j *fakeJournal, s *State, o Outcome) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Follow(j, nil); err != nil {
		t.Fatal(err)
	}
	s.snapshot = j.now
	r.final = s
	if _, err := r.Write(o, io.Discard, emptyEnv); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, unfinished+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("leftover files: %v, %v", left, err)
	}
	return dir
}
