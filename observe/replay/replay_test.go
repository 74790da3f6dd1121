package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

var start = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return start.Add(d) }

// snapshots are those of a control plane that starts, works and stops, one in a quarter of
// a second.
func snapshots() (list []observe.Snapshot) {
	for i := range 40 {
		s := observe.Snapshot{
			Time:    at(time.Duration(i) * 250 * time.Millisecond),
			Process: observe.Process{Name: "dev", State: observe.Ready, Started: start, Requests: int64(i)},
			Journal: observe.JournalStats{Last: uint64(i), First: 1, Size: 100},
			Queues:  []observe.Queue{},
		}
		if i > 35 {
			s.Process.State = observe.Stopping
		}
		for n := range min(i, 3) {
			name := fmt.Sprintf("c%d", n)
			c := observe.Controller{Name: name, State: "running", Syncs: int64(i / 4 * n)}
			if i%7 == 3 {
				c.Running = []observe.RunningSync{{Queue: "q", ID: uint64(i), Key: "a/b", Since: s.Time}}
			}
			s.Controllers = append(s.Controllers, c)
			q := observe.Queue{Controller: name, Name: "q", Adds: int64(i / 4 * n), Depth: int64(i % (n + 1))}
			for h := range min(i/4, 4) {
				q.History = append(q.History, observe.Sample{MaxDepth: int64(i/4 + h)})
			}
			s.Queues = append(s.Queues, q)
		}
		if i > 10 && i < 30 {
			s.Clients = append(s.Clients, observe.Client{Name: "kubectl", Requests: int64(i / 3)})
		}
		if last := min(i, 35); last%5 == 0 {
			s.Timers = []observe.Timer{{Controller: "c0", Due: at(time.Duration(last) * 250 * time.Millisecond)}}
			s.Problems = []observe.Problem{{Kind: "Pod", What: observe.CannotStart, Count: last}}
		}
		list = append(list, s)
	}
	return list
}

// fakeSource is a source to which a test appends.
type fakeSource struct {
	records []observe.Record
	now     observe.Snapshot
}

func (f *fakeSource) Snapshot(context.Context) (observe.Snapshot, error) { return f.now, nil }

func (f *fakeSource) Records(_ context.Context, q observe.Query) (observe.Page, error) {
	p := observe.Page{Next: uint64(len(f.records))}
	for _, r := range f.records {
		if r.Seq > q.After && q.Match(&r) {
			p.Records = append(p.Records, r)
		}
	}
	return p, nil
}

func (f *fakeSource) Wait(ctx context.Context, _ uint64) error {
	<-ctx.Done()
	return ctx.Err()
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, lines ...any) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "recording.jsonl")
	var text strings.Builder
	for _, l := range lines {
		if s, ok := l.(string); ok {
			text.WriteString(s + "\n")
			continue
		}
		data, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(string(data) + "\n")
	}
	testutil.WriteFile(t, path, text.String())
	return path
}

func openTest(t *testing.T, path string) *Recording {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func record(seq uint64, after time.Duration) observe.Record {
	return observe.Record{Seq: seq, Time: at(after), Event: &observe.ControllerChanged{Controller: "c0", State: fmt.Sprint(seq)}}
}

// TestMomentsShowWhatWasShown compares the snapshot at the time of each one that was recorded.
func TestMomentsShowWhatWasShown(t *testing.T) {
	var e encoder
	lines := []any{NewHeader(start)}
	kinds := map[string]int{}
	var recorded []observe.Snapshot
	for _, s := range snapshots() {
		line := e.encode(s)
		switch line.(type) {
		case snapshotLine:
			kinds[snapshotKind]++
		case stateChange:
			kinds[stateChangedKind]++
		default:
			continue
		}
		lines, recorded = append(lines, line), append(recorded, s)
	}
	if kinds[snapshotKind] != 1 || kinds[stateChangedKind] < 30 {
		t.Errorf("lines %v, want one whole snapshot and many changes", kinds)
	}
	r := openTest(t, write(t, lines...))
	for _, want := range recorded {
		got, err := r.At(r.Seek(want.Time)).Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(toJSON(t, want), toJSON(t, got)); diff != "" {
			t.Fatalf("at %s (-shown +replayed):\n%s", want.Time, diff)
		}
	}
	if want := at(36*250*time.Millisecond - 1); !r.Last().At.Equal(want) {
		t.Errorf("the last moment before the end is %s, want %s", r.Last().At, want)
	}
}

// idleSnapshots are those of a control plane in which one queue of ten works, each ten seconds, and another one holds keys.
func idleSnapshots() (list []observe.Snapshot) {
	var histories [10][]observe.Sample
	for i := range 800 {
		s := observe.Snapshot{Time: at(time.Duration(i) * 250 * time.Millisecond), Process: observe.Process{State: observe.Ready, Settled: true, CPU: time.Duration(i)}}
		for n := range histories {
			q := observe.Queue{Controller: "c", Name: fmt.Sprint(n), Adds: int64((i/4 + n) / 10 * 3)}
			if n == 9 {
				q.Depth, q.Adds = 2, 2
			}
			if h := &histories[n]; i%4 == 0 { // a second has passed
				sample := observe.Sample{MaxDepth: q.Depth}
				if n < 9 && (i/4+n)%10 == 0 {
					sample = observe.Sample{MaxDepth: 1, Adds: 3, Done: 3}
				}
				*h = append(slices.Clone(*h), sample)
				*h = (*h)[max(0, len(*h)-historySamples):]
			}
			if slices.ContainsFunc(histories[n], func(s observe.Sample) bool { return s != observe.Sample{} }) && (n != 3 || i < 400) {
				q.History = histories[n]
			}
			s.Queues = append(s.Queues, q)
		}
		list = append(list, s)
	}
	return list
}

// TestIdleControlPlane has a line per second, with the queues that have worked. What others have in their histories is shown.
func TestIdleControlPlane(t *testing.T) {
	var e encoder
	lines := []any{NewHeader(start)}
	var recorded []observe.Snapshot
	queues := 0
	for _, s := range idleSnapshots() {
		line := e.encode(s)
		if line == nil {
			continue
		}
		if c, ok := line.(stateChange); ok {
			queues += len(c.Queues)
		}
		lines, recorded = append(lines, line), append(recorded, s)
	}
	if len(recorded) != 200 || queues > 210 {
		t.Errorf("%d lines in 200 s, with %d queues: each of nine works every ten seconds", len(recorded), queues)
	}
	r := openTest(t, write(t, lines...))
	for _, want := range recorded {
		got, err := r.At(r.Seek(want.Time)).Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(toJSON(t, want), toJSON(t, got)); diff != "" {
			t.Fatalf("at %s (-shown +replayed):\n%s", want.Time, diff)
		}
	}
	for i := range lines { // as a reader that does not know the field
		if c, ok := lines[i].(stateChange); ok {
			c.IdleSamples = 0
			lines[i] = c
		}
	}
	openTest(t, write(t, lines...))
}

// TestQueuesThatReturn replays walks in which queues go away and return, work or idle for a while.
func TestQueuesThatReturn(t *testing.T) {
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 0))
		var e encoder
		lines := []any{NewHeader(start)}
		var recorded []observe.Snapshot
		var queues [6]observe.Queue
		for i := range queues {
			queues[i] = observe.Queue{Controller: "c", Name: fmt.Sprint(i)}
		}
		gone := map[int]bool{}
		for step := range 250 {
			s := observe.Snapshot{Time: at(time.Duration(step) * time.Second), Process: observe.Process{State: observe.Ready}, Queues: []observe.Queue{}}
			samples := random.IntN(8)
			for i := range queues {
				q := &queues[i]
				if random.IntN(12) == 0 {
					gone[i] = !gone[i]
				}
				if works := random.IntN(4) == 0; works {
					q.Depth, q.Adds = random.Int64N(3)/2, q.Adds+1
					q.History = append(slices.Clone(q.History), observe.Sample{Adds: random.Int64N(3)})
				}
				q.History = append(slices.Clone(q.History), slices.Repeat([]observe.Sample{{MaxDepth: q.Depth}}, samples)...)
				q.History = q.History[max(0, len(q.History)-historySamples):]
				if !slices.ContainsFunc(q.History, func(s observe.Sample) bool { return s != observe.Sample{} }) {
					q.History = nil
				}
				if !gone[i] {
					s.Queues = append(s.Queues, *q)
				}
			}
			if random.IntN(60) == 0 {
				e.restart()
			}
			if line := e.encode(s); line != nil {
				lines, recorded = append(lines, line), append(recorded, s)
			}
		}
		r := openTest(t, write(t, lines...))
		for _, want := range recorded {
			got, err := r.At(r.Seek(want.Time)).Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if want, got := toJSON(t, want), toJSON(t, got); want != got {
				t.Fatalf("seed %d (-shown +replayed):\n%s", seed, cmp.Diff(want, got))
			}
		}
	}
}

// TestChangesOfAnIdleControlPlane has changes that are recorded at once, and one that waits.
func TestChangesOfAnIdleControlPlane(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*observe.Snapshot)
		must   bool
		want   bool
	}{
		"a number":          {change: func(s *observe.Snapshot) { s.Controllers[0].Syncs++ }},
		"captured":          {change: func(s *observe.Snapshot) { s.Controllers[0].Syncs++ }, must: true, want: true},
		"work":              {change: func(s *observe.Snapshot) { s.Process.Settled = false }, want: true},
		"a state":           {change: func(s *observe.Snapshot) { s.Controllers[0].Since = s.Time }, want: true},
		"another client":    {change: func(s *observe.Snapshot) { s.Clients = []observe.Client{{Name: "kubectl"}} }, want: true},
		"another queue":     {change: func(s *observe.Snapshot) { s.Queues = []observe.Queue{{Name: "q"}} }, want: true},
		"a second later":    {change: func(s *observe.Snapshot) { s.Time = at(time.Second) }, want: true},
		"nothing but time":  {change: func(*observe.Snapshot) {}},
		"a timer is set":    {change: func(s *observe.Snapshot) { s.Timers = []observe.Timer{{Controller: "c"}} }, want: true},
		"a Pod fails":       {change: func(s *observe.Snapshot) { s.Problems = []observe.Problem{{Kind: "Pod"}} }, want: true},
		"the process stops": {change: func(s *observe.Snapshot) { s.Process.State = observe.Stopping }, want: true},
	} {
		snapshot := func(after time.Duration) observe.Snapshot {
			return observe.Snapshot{Time: at(after), Process: observe.Process{State: observe.Ready, Settled: true}, Controllers: []observe.Controller{{Name: "c"}}}
		}
		var e encoder
		e.encode(snapshot(0))
		next := snapshot(250 * time.Millisecond)
		test.change(&next)
		e.must = test.must
		if line := e.encode(next); (line != nil) != test.want {
			t.Errorf("%s: %+v", name, line)
		}
	}
}

func TestRecordsUpToAMoment(t *testing.T) {
	r := openTest(t, write(t, NewHeader(start), record(1, 0), record(3, 2*time.Second), record(2, time.Second), record(7, 3*time.Second)))
	seqs := func(p observe.Page) (list []uint64) {
		for _, r := range p.Records {
			list = append(list, r.Seq)
		}
		return list
	}
	for _, c := range []struct {
		after time.Duration
		query observe.Query
		want  []uint64
		next  uint64
		miss  uint64
		left  uint64
	}{
		{0, observe.Query{}, []uint64{1}, 1, 0, 0},
		{2500 * time.Millisecond, observe.Query{}, []uint64{1, 2, 3}, 3, 0, 0},
		{2500 * time.Millisecond, observe.Query{After: 2}, []uint64{3}, 3, 0, 0},
		{time.Minute, observe.Query{}, []uint64{1, 2, 3, 7}, 7, 3, 0},
		{time.Minute, observe.Query{After: 3}, []uint64{7}, 7, 3, 0},
		{time.Minute, observe.Query{After: 7}, nil, 7, 0, 0},
		{time.Minute, observe.Query{Limit: 1}, []uint64{7}, 7, 3, 3},
		{time.Minute, observe.Query{Controller: "other"}, nil, 7, 3, 0},
	} {
		p, err := r.At(r.Seek(at(c.after))).Records(t.Context(), c.query)
		if err != nil || !slices.Equal(seqs(p), c.want) || p.Next != c.next || p.Missed != c.miss || p.LeftOut != c.left {
			t.Errorf("after %s, %+v: %v, next %d, missed %d, left out %d, %v; want %+v", c.after, c.query, seqs(p), p.Next, p.Missed, p.LeftOut, err, c)
		}
	}
}

func TestStepsByRecord(t *testing.T) {
	r := openTest(t, write(t, NewHeader(start), record(1, 0), record(2, 0), record(3, time.Second), record(4, 2*time.Second)))
	odd := func(r *observe.Record) bool { return r.Seq%2 == 1 }
	p, ok := r.Next(r.Begin(), odd)
	if !ok || p.records != 3 || !p.At.Equal(at(time.Second)) {
		t.Errorf("next: %+v, %t", p, ok)
	}
	if end, ok := r.Next(p, odd); ok || end != p {
		t.Errorf("after the last one: %+v, %t", end, ok)
	}
	if p, ok = r.Previous(p, odd); !ok || p.records != 1 {
		t.Errorf("previous: %+v, %t", p, ok)
	}
}

// TestRecordingWithoutSnapshots is that of a program that wrote none.
func TestRecordingWithoutSnapshots(t *testing.T) {
	r := openTest(t, write(t, NewHeader(start), record(1, 0),
		observe.Record{Seq: 2, Time: at(time.Second), Event: &observe.QueueChanged{Controller: "c0", Queue: "q", Depth: 3, MaxDepth: 5, Adds: 9}}))
	s, err := r.At(r.End()).Snapshot(t.Context())
	if err != nil || len(s.Controllers) != 1 || s.Controllers[0].State != "1" || len(s.Queues) != 1 || s.Queues[0].Depth != 3 || s.Queues[0].MaxDepth != 5 {
		t.Errorf("snapshot %+v, %v", s, err)
	}
}

func TestUnreadableRecordings(t *testing.T) {
	folder := t.TempDir()
	huge := testutil.WriteFile(t, filepath.Join(folder, "huge"), toJSONLine(t, NewHeader(start)))
	if err := os.Truncate(huge, MaxSize+1); err != nil {
		t.Fatal(err)
	}
	staging := filepath.Join(t.TempDir(), UnfinishedPrefix+"123")
	unfinished := testutil.WriteFile(t, filepath.Join(staging, EventsFile), toJSONLine(t, NewHeader(start)))
	future := NewHeader(start)
	future.Version = 2
	past := NewHeader(start)
	past.Version = 0
	for name, c := range map[string]struct{ path, want string }{
		"missing":      {filepath.Join(folder, "none"), syscall.ENOENT.Error()},
		"folder":       {folder, "the folder has no events.jsonl: name the folder of a finished"},
		"unfinished":   {filepath.Dir(staging), "the run goes on or was killed: name the file with what it has recorded: " + unfinished},
		"empty":        {write(t), "it is empty: name a recording"},
		"other":        {write(t, "apiVersion: v1"), `not a recording: its first line is not of kind "ctrlplane"`},
		"other JSON":   {write(t, map[string]any{"kind": "Pod"}), "not a recording"},
		"future":       {write(t, future, record(1, 0)), "its format has version 2, and this ctrlplane reads version 1: use a newer ctrlplane"},
		"past":         {write(t, past, record(1, 0)), "its format has version 0, and this ctrlplane reads version 1: use an older ctrlplane"},
		"no records":   {write(t, NewHeader(start)), "it has no records"},
		"damaged":      {write(t, NewHeader(start), record(1, 0), `{"seq":2,"ti`, record(3, 0)), "line 3 is damaged: unexpected end of JSON input"},
		"no seq":       {write(t, NewHeader(start), `{"kind":"synced","time":"2026-07-01T12:00:00Z"}`, record(3, 0)), "line 2 is damaged: a record without a seq"},
		"wrong type":   {write(t, NewHeader(start), `{"seq":"x","kind":"synced"}`, record(3, 0)), "line 2 is damaged: json: cannot unmarshal"},
		"no base":      {write(t, NewHeader(start), stateChange{Kind: stateChangedKind, Time: start}, record(1, 0)), "line 2 is damaged: it changes a snapshot that is missing"},
		"unknown name": {write(t, NewHeader(start), snapshotLine{snapshotKind, observe.Snapshot{Time: start}}, stateChange{Kind: stateChangedKind, Time: start, Controllers: []observe.Controller{{Name: "x"}}}, record(1, 0)), `line 3 is damaged: controller "x" has changed, but was not there before`},
		"long list":    {write(t, NewHeader(start), snapshotKindLine(`"queues":[`+elements(5000)+`]`), record(1, 0)), "line 2 is damaged: a list has more than 4096 elements"},
		"long lists":   {write(t, NewHeader(start), snapshotKindLine(`"queues":[`+strings.Repeat(`{"waiting":[`+elements(1000)+`]},`, 200)+`{}]`), record(1, 0)), "line 2 is damaged: its lists have more than 131072 elements"},
		"long record":  {write(t, NewHeader(start), `{"seq":1,"kind":"called","time":"2026-07-01T12:00:00Z","wrote":[`+elements(200_000)+`]}`, record(2, 0)), "line 2 is damaged: its lists have more than 131072 elements"},
		"long history": {write(t, NewHeader(start), snapshotKindLine(`"queues":[{"history":[`+elements(300)+`]}]`), record(1, 0)), `line 2 is damaged: queue "": it has 300 samples, and at most 256 are read`},
		"growing history": {write(t, NewHeader(start), snapshotKindLine(`"queues":[{"history":[`+elements(200)+`]}]`),
			`{"kind":"stateChanged","time":"2026-07-01T12:00:00Z","queues":[{"keep":200,"samples":[`+elements(100)+`]}]}`, record(1, 0)), `line 3 is damaged: queue "": it has 300 samples, and at most 256 are read`},
		"adds without queues": {write(t, NewHeader(start), `{"seq":1,"kind":"delivered","time":"2026-07-01T12:00:00Z","queues":["a"],"adds":[1,2]}`, record(2, 0)), "line 2 is damaged: it has 2 adds to 1 queues"},
		"far too many adds":   {write(t, NewHeader(start), `{"seq":1,"kind":"synced","time":"2026-07-01T12:00:00Z","add":1,"lastAdd":18446744073709551615}`, record(2, 0)), "line 2 is damaged: its sync follows from one of the adds 1 to 18446744073709551615"},
		"adds the wrong way":  {write(t, NewHeader(start), `{"seq":1,"kind":"synced","time":"2026-07-01T12:00:00Z","add":3,"lastAdd":2}`, record(2, 0)), "line 2 is damaged: its sync follows from one of the adds 3 to 2"},
		"huge":                {huge, "it has 1024 MiB, and at most 1024 MiB can be read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(c.path)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "recording "+c.path+": ") {
				t.Errorf("error %q, want one line with %q", err, c.want)
			}
		})
	}
}

func elements(n int) string { return strings.Repeat("{},", n-1) + "{}" }

func snapshotKindLine(lists string) string {
	return `{"kind":"snapshot","time":"2026-07-01T12:00:00Z",` + lists + `}`
}

func toJSONLine(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data) + "\n"
}

// TestManyChangesOfALongList counts what reading and showing allocate: the list is not to be
// cloned for each change.
func TestManyChangesOfALongList(t *testing.T) {
	const clients, changes, most = 2000, 1000, 128 << 20 // one clone takes more than 0.5 MB
	whole := observe.Snapshot{Time: start}
	for i := range clients {
		whole.Clients = append(whole.Clients, observe.Client{Name: fmt.Sprint("c", i)})
	}
	lines := []any{NewHeader(start), snapshotLine{snapshotKind, whole}}
	for i := range changes {
		lines = append(lines, stateChange{Kind: stateChangedKind, Time: at(time.Duration(i) * time.Second), Clients: []observe.Client{{Name: "c7", Requests: int64(i + 1)}}})
	}
	path := write(t, lines...)
	var r *Recording
	if n := allocated(func() { r = openTest(t, path) }); n > most {
		t.Errorf("reading allocates %d MiB", n>>20)
	}
	requests := func(after time.Duration) int64 {
		s, err := r.At(r.Seek(at(after))).Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.Clients[7].Requests
	}
	if n := allocated(func() { requests((changes - 2) * time.Second) }); n > most {
		t.Errorf("showing a moment allocates %d MiB", n>>20)
	}
	for _, second := range []int64{changes - 2, changes - 1, 0, 1, 500} { // forward, and back
		if got := requests(time.Duration(second) * time.Second); got != second+1 {
			t.Errorf("after %d s: %d requests, want %d", second, got, second+1)
		}
	}
}

func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestSnapshotsDoNotChange: those of earlier moments, when later ones are shown.
func TestSnapshotsDoNotChange(t *testing.T) {
	list := snapshots()
	lines := []any{NewHeader(start)}
	var e encoder
	for _, s := range list {
		if line := e.encode(s); line != nil {
			lines = append(lines, line)
		}
	}
	r := openTest(t, write(t, lines...))
	var all sync.WaitGroup
	for range 2 { // that of the view and that of a search, say
		all.Go(func() {
			var shown []observe.Snapshot
			var first []string
			for i := range list {
				s, err := r.At(r.Seek(list[i].Time)).Snapshot(t.Context())
				if err != nil {
					t.Error(err)
				}
				shown, first = append(shown, s), append(first, toJSON(t, s))
			}
			for i := range shown {
				if now := toJSON(t, shown[i]); now != first[i] {
					t.Errorf("snapshot %d was %s, and is %s", i, first[i], now)
				}
			}
		})
	}
	all.Wait()
}

// TestCutRecording ends in the middle of a line, because the process was killed.
func TestCutRecording(t *testing.T) {
	path := write(t, NewHeader(start), record(1, 0), record(2, time.Second))
	data := testutil.ReadFile(t, path)
	for cut := 2; cut < 30; cut++ {
		testutil.WriteFile(t, path, data[:len(data)-cut])
		r := openTest(t, path)
		if len(r.records) != 1 || r.Cut != "its last line, 3, is cut" {
			t.Errorf("%d records, cut: %q", len(r.records), r.Cut)
		}
	}
}

func TestUnknownLinesAreIgnored(t *testing.T) {
	r := openTest(t, write(t, NewHeader(start), `{"kind":"newer","time":"2026-07-01T12:00:00Z","seq":1,"x":1}`, record(2, 0), `{"kind":"missed","missed":4}`))
	if len(r.records) != 1 {
		t.Errorf("records %v", r.records)
	}
}

func TestFind(t *testing.T) {
	zone := time.FixedZone("", 3600)
	late := openTest(t, write(t, NewHeader(start), record(1, 6*time.Second), record(2, 10*time.Second)))
	if p, err := late.Find("13:00", zone); err != nil || !p.At.Equal(at(6*time.Second)) {
		t.Errorf("the minute in which it begins: %v, %v", p.At, err)
	}
	r := openTest(t, write(t, NewHeader(start), record(1, 500*time.Millisecond), record(2, 10*time.Second), record(3, 14*time.Hour)))
	for text, want := range map[string]time.Duration{
		"2026-07-01T12:00:05Z": 5 * time.Second, "2026-07-01T13:00:05.25+01:00": 5250 * time.Millisecond,
		"13:00:05": 5 * time.Second, "13:00:00": 500 * time.Millisecond, "13:01": time.Minute, "13:00": 500 * time.Millisecond, "13:00:05.123": 5123 * time.Millisecond, "01:30": 12*time.Hour + 30*time.Minute,
		"0s": 500 * time.Millisecond, "1m30s": 90500 * time.Millisecond,
	} {
		p, err := r.Find(text, zone)
		if err != nil || !p.At.Equal(at(want)) {
			t.Errorf("%q: %s after the start, %v; want %s", text, p.At.Sub(start), err, want)
		}
	}
	for text, want := range map[string]string{
		"":          "is not a time: use one such as 2026-07-01T13:00:00+01:00, a time of the day such as 13:00:00, or a duration since the beginning such as 1m30s",
		"yesterday": "is not a time", "-5s": "is not a time", "25:00": "is not a time", "5": "is not a time",
		"15h":                  `"15h" is not in the recording, which goes from 2026-07-01T13:00:00+01:00 to 2026-07-02T03:00:00+01:00 (13h59m59.5s)`,
		"2026-07-01T11:59:59Z": "is not in the recording",
		"12:59":                "is not in the recording",
	} {
		if _, err := r.Find(text, zone); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
