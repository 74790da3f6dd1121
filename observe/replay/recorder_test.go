package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/inuse"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// recordTo records an observer to a file while do runs.
func recordTo(t *testing.T, path string, limit int64, o *observe.Observer, do func()) (missed uint64) {
	t.Helper()
	file, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	r := Start(Config{Source: o, File: file, Limit: limit})
	do()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return r.Missed()
}

// TestRecordingRotatesUnderLoad records more than there is room for. What is left is the
// newest part without a gap, and begins with the causes of what exists.
func TestRecordingRotatesUnderLoad(t *testing.T) {
	const limit, writers, each = 1 << 20, 4, 8000
	path := filepath.Join(t.TempDir(), "recording.jsonl")
	o := observe.New(observe.Options{Records: 1 << 20, Process: func() observe.Process { return observe.Process{State: observe.Ready} }})
	defer o.Close()
	o.Recorder("first").RecordCall(&observe.Called{
		Controller: "first", Verb: "create", Object: observe.Object{Resource: "pods", Namespace: "default", Name: "web"}, Status: 201, ResourceVersion: "5",
		Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: "web", ResourceVersion: "5"}},
	})
	missed := recordTo(t, path, limit, o, func() {
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := range each {
					o.Append(&observe.ControllerChanged{Controller: fmt.Sprint(w), State: fmt.Sprint(i), Reason: strings.Repeat("x", 100)})
					if i%1000 == 0 { // so that the recorder reads in between
						_ = o.Wait(t.Context(), 0)
					}
				}
			})
		}
		all.Wait()
	})
	if missed != 0 {
		t.Errorf("%d records are missed", missed)
	}
	for _, name := range []string{path, olderFile(path)} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > limit/2+1000 { // a file ends with the line that fills it
			t.Errorf("%s has %d bytes, the limit of both is %d", name, info.Size(), limit)
		}
	}
	r := openTest(t, path)
	if !r.HasProblems {
		t.Error("it does not say that it has the problems of objects")
	}
	first := r.records[0]
	if c, ok := first.Event.(*observe.Called); !ok || c.Controller != "first" {
		t.Errorf("the first record is %+v, want the cause of the object that exists", first)
	}
	last := r.records[len(r.records)-1].Seq
	if last != writers*each+1 {
		t.Errorf("the last record is %d, want %d", last, writers*each+1)
	}
	for i := 2; i < len(r.records); i++ {
		if r.records[i].Seq != r.records[i-1].Seq+1 {
			t.Fatalf("record %d follows %d", r.records[i].Seq, r.records[i-1].Seq)
		}
	}
	if _, err := r.At(r.Begin()).Snapshot(t.Context()); err != nil {
		t.Error(err)
	}
}

// limitedSource has another record for each read, each long enough to fill a file.
type limitedSource struct {
	fakeSource
	mu sync.Mutex
}

func (l *limitedSource) Records(ctx context.Context, q observe.Query) (observe.Page, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fakeSource.Records(ctx, q)
}

// TestRotation fills several files, of which the last two are left.
func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recording.jsonl")
	file, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	src := &limitedSource{}
	r := &Recorder{config: Config{Source: src, File: file}, out: newPartWriter(file, 20_000)}
	r.writeLine(r.out.header)
	list := snapshots()
	for i := range 4 {
		for range 100 {
			seq := uint64(len(src.records) + 1)
			src.records = append(src.records, observe.Record{Seq: seq, Time: list[i].Time, Event: &observe.Logged{Message: strings.Repeat("x", 60)}})
		}
		src.now = list[i]
		r.snapshotAt = start // it is time for one
		r.step(t.Context())
	}
	r.fail(r.out.Close())
	if r.err != nil {
		t.Fatal(r.err)
	}
	both := openTest(t, path)
	requireNewest(t, both, 400)
	got, err := both.At(both.End()).Snapshot(t.Context())
	if err != nil || toJSON(t, got) != toJSON(t, list[3]) {
		t.Errorf("the last snapshot is %s, %v", toJSON(t, got), err)
	}
	// Without the older file, and with that of another recording, the newest one is complete.
	for _, older := range []string{"", toJSONLine(t, Header{Kind: headerKind, Version: 1, Part: 4, Began: start})} {
		testutil.WriteFile(t, olderFile(path), older)
		alone := openTest(t, path)
		requireNewest(t, alone, 400)
		if len(alone.records) >= len(both.records) {
			t.Errorf("%d of %d records", len(alone.records), len(both.records))
		}
	}
}

// requireNewest checks that a recording has some records up to a Seq, but not the first.
func requireNewest(t *testing.T, r *Recording, last uint64) {
	t.Helper()
	if n := len(r.records); n == 0 || r.records[0].Seq == 1 || r.records[n-1].Seq != last || last-r.records[0].Seq != uint64(n-1) {
		t.Errorf("%d records, from %d to %d, want the newest up to %d", n, r.records[0].Seq, r.records[n-1].Seq, last)
	}
}

// TestRotationWhileRead has a program that reads one of the files, which cannot be renamed then on
// Windows: the recording goes on, and begins the next file afterwards.
func TestRotationWhileRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recording.jsonl")
	file, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	src := &limitedSource{}
	r := &Recorder{config: Config{Source: src, File: file}, out: newPartWriter(file, 20_000)}
	refusals := 0
	r.out.rename = func(string, string) error { refusals++; return inuse.Err }
	r.writeLine(r.out.header)
	record := func(n int) {
		t.Helper()
		for range n {
			seq := uint64(len(src.records) + 1)
			src.records = append(src.records, observe.Record{Seq: seq, Time: start, Event: &observe.Logged{Message: strings.Repeat("x", 60)}})
		}
		src.now, r.snapshotAt = snapshots()[0], start
		r.step(t.Context())
		if err := r.err; err != nil {
			t.Fatal(err)
		}
	}
	record(200)
	if all := openTest(t, path); refusals == 0 || r.out.header.Part != 1 || len(all.records) != 200 {
		t.Errorf("while it is read: %d attempts, part %d, %d records", refusals, r.out.header.Part, len(all.records))
	}
	r.out.rename = os.Rename
	record(1)
	if err := r.out.Close(); err != nil {
		t.Fatal(err)
	}
	if all := openTest(t, path); r.out.header.Part != 2 || len(all.records) != 201 {
		t.Errorf("afterwards: part %d, %d records", r.out.header.Part, len(all.records))
	}
}

// TestCreateReplacesNothing: not an earlier recording either, which another process may
// still write, or of which only the older half is left.
func TestCreateReplacesNothing(t *testing.T) {
	folder := t.TempDir()
	const content = "mine\n"
	header := toJSONLine(t, NewHeader(start))
	const written = " exists, and may still be written: choose another name, or move the recording away"
	for name, c := range map[string]struct{ file, content, want string }{
		"other":   {"notes.txt", content, "notes.txt: it exists and is not a recording: choose another name"},
		"earlier": {"day.jsonl", header, "day.jsonl: it" + written},
		"begun":   {"begun.jsonl", "", "begun.jsonl: it" + written},
		"older":   {"week.jsonl.1", header, "week.jsonl: week.jsonl.1" + written},
	} {
		path := testutil.WriteFile(t, filepath.Join(folder, c.file), c.content)
		if _, err := Create(strings.TrimSuffix(path, ".1")); err == nil || err.Error() != filepath.Join(folder, c.want) { // which names the file once
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != c.content {
			t.Errorf("%s: the file has %q, %v", name, data, err)
		}
	}
	if _, err := Create(folder); err == nil || !strings.Contains(err.Error(), "it exists and is not a file") {
		t.Errorf("a folder: %v", err)
	}
}

// TestRotationSparesAnotherFile removes the file of a recording, and begins another one of
// that name.
func TestRotationSparesAnotherFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recording.jsonl")
	file, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	first := newPartWriter(file, 20_000)
	if err := os.Remove(path); err != nil {
		t.Skip("this system does not remove open files:", errors.Join(err, first.Close()))
	}
	testutil.WriteFile(t, path, "another")
	if _, err := first.rotate(); err == nil || !strings.Contains(err.Error(), "another process has replaced the file") {
		t.Errorf("rotate: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "another" {
		t.Errorf("the file has %q, %v", data, err)
	}
}

// TestWriteErrorIsReportedOnce records to a file that is closed. OnRecord gets the last records nevertheless.
func TestWriteErrorIsReportedOnce(t *testing.T) {
	file, err := Create(filepath.Join(t.TempDir(), "recording.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	var reported []error
	src := slowSource{&fakeSource{records: []observe.Record{record(1, 0), record(2, 0), record(3, 0), record(4, 0), record(5, 0)}, now: snapshots()[0]}}
	src.now.Journal.Last = 5
	var seen []uint64
	r := Start(Config{Source: src, File: file, OnError: func(err error) { reported = append(reported, err) }, OnRecord: func(r observe.Record) { seen = append(seen, r.Seq) }})
	r.Capture(t.Context()) // which notices the error
	if err := r.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("error %v", err)
	}
	if len(reported) != 1 || !slices.Equal(seen, []uint64{1, 2, 3, 4, 5}) || r.Missed() != 0 {
		t.Errorf("reported %v, records %v, %d missed", reported, seen, r.Missed())
	}
}

// slowSource has one more record each time, as if the others were still being appended.
type slowSource struct{ *fakeSource }

func (s slowSource) Records(ctx context.Context, q observe.Query) (observe.Page, error) {
	page, err := s.fakeSource.Records(ctx, q)
	if len(page.Records) > 1 {
		page.Records, page.Next = page.Records[:1], page.Records[0].Seq
	}
	return page, err
}

func TestResourcesAreWrittenWhenTheyChange(t *testing.T) {
	file, err := Create(filepath.Join(t.TempDir(), "recording.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	served := []Resource{{Version: "v1", Resource: "pods", Kind: "Pod"}}
	asked := 0
	src := &fakeSource{now: snapshots()[0]}
	r := &Recorder{config: Config{Source: src, Resources: func(context.Context) ([]Resource, error) { asked++; return served, nil }}, out: newPartWriter(file, 0)}
	r.writeLine(r.out.header)
	for i := range 4 {
		if i == 2 {
			served = append(served, Resource{Group: "shop", Version: "v1", Resource: "sites", Kind: "Site", ShortNames: []string{"st"}})
			src.records = append(src.records, observe.Record{Seq: 1, Time: start, Event: &observe.Called{Verb: "create", Object: observe.Object{Resource: "customresourcedefinitions", Name: "sites.shop"}}})
		}
		r.snapshotAt = start
		r.step(t.Context())
	}
	r.fail(r.out.Close())
	if r.err != nil {
		t.Fatal(r.err)
	}
	if got := openTest(t, file.Name()).Resources; asked != 2 || len(got) != 2 || got[1].ShortNames[0] != "st" {
		t.Errorf("asked %d times, resources %+v", asked, got)
	}
}

// TestResourcesAfterAnError: one API server of many does not answer. Asking takes long, and
// would be in vain each time.
func TestResourcesAfterAnError(t *testing.T) {
	file, err := Create(filepath.Join(t.TempDir(), "recording.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	partial := func(context.Context) ([]Resource, error) {
		asked++
		return []Resource{{Version: "v1", Resource: "pods", Kind: "Pod"}}, errors.New("metrics.k8s.io/v1beta1: unavailable")
	}
	src := &fakeSource{now: snapshots()[0]}
	r := &Recorder{config: Config{Source: src, Resources: partial}, out: newPartWriter(file, 0)}
	r.writeLine(r.out.header)
	require := func(want int, when string) {
		t.Helper()
		for range 4 {
			r.snapshotAt = start // it is time for one
			r.step(t.Context())
		}
		if asked != want {
			t.Errorf("%s: asked %d times, want %d", when, asked, want)
		}
	}
	require(1, "after an error")
	r.resourcesDue = r.resourcesDue.Add(-resourcesRetry)
	require(2, "a while later")
	src.records = []observe.Record{{Seq: 1, Time: start, Event: &observe.Called{Verb: "create", Object: observe.Object{Resource: "customresourcedefinitions", Name: "sites.shop"}}}}
	require(3, "after another resource was added")
	r.fail(r.out.Close())
	if r.err != nil {
		t.Fatal(r.err)
	}
	if got := openTest(t, file.Name()).Resources; len(got) != 1 {
		t.Errorf("resources %+v", got)
	}
}

// TestBufferKeepsTheNewest adds more snapshots than there is room for.
func TestBufferKeepsTheNewest(t *testing.T) {
	b := &Buffer{maximum: 20_000}
	list := snapshots()
	for _, s := range list {
		if err := b.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	if b.size > 2*b.maximum || len(b.groups) < 2 {
		t.Errorf("%d bytes in %d groups", b.size, len(b.groups))
	}
	r, err := b.Recording([]observe.Record{record(1, -time1)})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Begin().At.After(start) || !r.End().At.Equal(list[len(list)-1].Time) {
		t.Errorf("from %s to %s", r.Begin().At, r.End().At)
	}
	got, err := r.At(r.End()).Snapshot(t.Context())
	if err != nil || toJSON(t, got) != toJSON(t, list[len(list)-1]) {
		t.Errorf("the last snapshot is %s, %v", toJSON(t, got), err)
	}
	b.Clear()
	if _, err := b.Recording(nil); err == nil {
		t.Error("a cleared buffer has a recording")
	}
}

const time1 = 3600e9 // an hour

// stateSource has a snapshot that the test changes.
type stateSource struct {
	fakeSource
	mu sync.Mutex
}

func (s *stateSource) set(now observe.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

func (s *stateSource) Snapshot(context.Context) (observe.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, nil
}

// TestCaptureIsTheLastMoment settles and stops between two snapshots: the default moment
// of the recording is the captured one.
func TestCaptureIsTheLastMoment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recording.jsonl")
	file, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	now := func(state observe.State, settled bool) observe.Snapshot {
		return observe.Snapshot{Time: time.Now(), Process: observe.Process{State: state, Settled: settled}}
	}
	src := &stateSource{}
	src.set(now(observe.Ready, false))
	r := Start(Config{Source: src, File: file})
	src.set(now(observe.Ready, true))
	r.Capture(t.Context())
	src.set(now(observe.Stopping, false))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	recording := openTest(t, path)
	s, err := recording.At(recording.Last()).Snapshot(t.Context())
	if err != nil || s.Process.State != observe.Ready || !s.Process.Settled {
		t.Errorf("the last moment is %+v, %v", s.Process, err)
	}
}

// TestTheEndHasWhatThereWas: a control plane that stops has no clients, queues, timers and problems any more, one after the other.
// At the end of the recording there is what there was before.
func TestTheEndHasWhatThereWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recording.jsonl")
	file, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	now := func(state observe.State) observe.Snapshot {
		return observe.Snapshot{Time: time.Now(), Process: observe.Process{State: state}}
	}
	ready := now(observe.Ready)
	ready.Clients = []observe.Client{{Name: "teller", Requests: 290}, {Name: "kubectl", Requests: 1}}
	ready.Queues = []observe.Queue{{Name: "a", Adds: 3}, {Name: "b", Adds: 4}}
	ready.Timers = []observe.Timer{{Controller: "kubelet", Due: began}}
	ready.Problems = []observe.Problem{{Kind: "Pod", Count: 1}}
	src := &stateSource{}
	src.set(ready)
	r := Start(Config{Source: src, File: file})
	r.Capture(t.Context())
	stops := now(observe.Stopping)
	stops.Clients = []observe.Client{{Name: "teller", Requests: 300}, {Name: "kubectl", Requests: 1}} // its last requests
	stops.Queues = ready.Queues[1:]
	src.set(stops)
	r.Capture(t.Context())
	src.set(now(observe.Stopping))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	recording := openTest(t, path)
	s, err := recording.At(recording.End()).Snapshot(t.Context())
	if err != nil || s.Process.State != observe.Stopping {
		t.Fatalf("%+v, %v", s.Process, err)
	}
	if !slices.EqualFunc(s.Clients, stops.Clients, func(a, b observe.Client) bool { return a.Name == b.Name && a.Requests == b.Requests }) {
		t.Errorf("clients: %+v", s.Clients)
	}
	if len(s.Queues) != 2 || s.Queues[0].Adds != 3 || len(s.Timers) != 1 || len(s.Problems) != 1 {
		t.Errorf("queues %+v, timers %+v, problems %+v", s.Queues, s.Timers, s.Problems)
	}
}
