package live

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/observe"
)

// commands runs what a batch holds, but not the timer of the next tick.
func commands(cmd tea.Cmd) (n int) {
	if cmd == nil {
		return 0
	}
	batch, ok := cmd().(tea.BatchMsg)
	if !ok {
		return 1
	}
	return len(batch)
}

func TestOnePullAtATime(t *testing.T) {
	m := shown(t, Options{Source: &fixed{snapshot: idle()}}, 80, 24)
	m, cmd := m.ticked(now)
	if got := commands(cmd); got != 2 || !m.pulling {
		t.Fatalf("%d commands and pulling %t, want a tick and a pull", got, m.pulling)
	}
	for range 20 {
		now := m.now.Add(pullEvery)
		if m, _ = m.ticked(now); m.asked == now {
			t.Fatal("a pull began while one was under way")
		}
	}
	m = send(t, m, pulled{})
	if m, _ = m.ticked(m.now.Add(pullEvery)); m.asked != m.now {
		t.Error("no pull began after the answer")
	}
}

func TestErrorIsSaidAndRecoveredFrom(t *testing.T) {
	source := &fixed{snapshot: idle(), records: writes(1, 3)}
	m := shown(t, Options{Source: source, NoColor: true}, 120, 24)
	source.err = errors.New("connection\nrefused\x1b[2J")
	m = pullOnce(t, m)
	if got := m.View().Content; !strings.Contains(got, "lost the control plane: connection refused[2J; retrying") {
		t.Errorf("the error is not said:\n%s", got)
	}
	if m, _ = m.ticked(m.now.Add(pullEvery)); m.pulling {
		t.Error("the next try comes at once")
	}
	if m, _ = m.ticked(m.now.Add(retryAfter)); !m.pulling {
		t.Error("there is no next try")
	}
	source.err = nil
	m = pullOnce(t, m)
	if got := m.View().Content; strings.Contains(got, "lost") || !strings.Contains(got, "web-2") {
		t.Errorf("the view does not recover:\n%s", got)
	}
	m = send(t, m, pulled{err: context.DeadlineExceeded})
	if want := "no answer in 10s"; m.lost != want {
		t.Errorf("said %q, want %q", m.lost, want)
	}
}

func TestNothingChangesUntilSomethingHappens(t *testing.T) {
	m := shown(t, Options{Source: &fixed{snapshot: burst(), records: writes(1, 30)}}, 120, 40)
	before := m.View().Content
	for i := range 20 {
		m, _ = m.ticked(m.now.Add(pullEvery))
		m = send(t, m, m.pull(m.wanted())())
		if got := m.View().Content; got != before {
			t.Fatalf("pull %d changed the screen:\n%s", i, got)
		}
	}
}

func TestOrderHolds(t *testing.T) {
	s := burst()
	source := &fixed{snapshot: s}
	m := shown(t, Options{Source: source}, 120, 40)
	m = press(t, m, "j") // picks the deployments
	order := firstRows(m, 3)
	swap := burst()
	swap.Time = now.Add(holdOrder / 2)
	swap.Queues[0].Depth, swap.Queues[1].Depth = 9000, 1
	source.snapshot = swap
	m = pullOnce(t, m)
	if got := firstRows(m, 3); strings.Join(got, " ") != strings.Join(order, " ") {
		t.Errorf("the rows have moved to %v within %v", got, holdOrder)
	}
	source.snapshot.Time = now.Add(holdOrder)
	m = pullOnce(t, m)
	if got := firstRows(m, 1); got[0] != "deployment" {
		t.Errorf("%v is first, want the busiest", got)
	}
	if got := m.screens[0].list.cursor; m.rows[got].name != "deployment" {
		t.Errorf("the cursor went to %v", m.rows[got].name)
	}
}

func TestNewActivityComesUpAtOnce(t *testing.T) {
	source := &fixed{snapshot: idle()}
	m := shown(t, Options{Source: source}, 120, 40)
	source.snapshot = burst() // in the same second
	if m = pullOnce(t, m); firstRows(m, 1)[0] != "replicaset" {
		t.Errorf("%v are first", firstRows(m, 3))
	}
}

func TestHold(t *testing.T) {
	source := &inspectable{&fixed{snapshot: idle(), records: writes(1, 3)}, webInspection()}
	m := press(t, shown(t, Options{Source: source}, 120, 40), "space")
	if !m.wanted().empty() {
		t.Errorf("a view on hold asks for %+v", m.wanted())
	}
	m = press(t, m, "tab", "enter")
	if w := m.wanted(); w.snapshot || len(w.queries) != 1 {
		t.Errorf("a page opened on hold asks for %+v", w)
	}
	m = pullOnce(t, m)
	if !m.wanted().empty() || m.top().found == nil {
		t.Errorf("the page has not been filled: %+v", m.wanted())
	}
	if w := press(t, m, "space").wanted(); !w.snapshot || len(w.queries) != 2 {
		t.Errorf("after the hold it asks for %+v", w)
	}
}

func TestAnotherControlPlane(t *testing.T) {
	source := &fixed{snapshot: idle(), records: writes(1, 100)}
	m := shown(t, Options{Source: source}, 120, 40)
	source.snapshot.Process.Started = now
	source.records = writes(1, 2)
	m = pullOnce(t, pullOnce(t, m))
	if got := len(m.top().feed.entries); got != 2 {
		t.Errorf("%d records are shown, want the 2 of the new process", got)
	}
}

func TestInspectionFails(t *testing.T) {
	source := &inspectable{&fixed{snapshot: idle(), records: writes(1, 3)}, webInspection()}
	m := press(t, shown(t, Options{Source: source, NoColor: true}, 120, 40), "tab", "enter")
	source.err = errors.New("forbidden")
	object := m.top().object
	m = send(t, m, inspected{object: object, err: source.err})
	if got := m.View().Content; !strings.Contains(got, "cannot be shown: forbidden") {
		t.Errorf("the error is not said:\n%s", got)
	}
	source.found.Dependents = source.found.Dependents[:0:0]
	m = send(t, m, m.inspect(object)()) // an inspection and an error
	if got := m.View().Content; strings.Contains(got, "cannot be shown") || !strings.Contains(got, "forbidden") || len(m.top().found.Dependents) != 0 {
		t.Errorf("what was found in spite of an error is not shown:\n%s", got)
	}
	source.err = nil
	m.now = m.now.Add(inspectEvery)
	if m = pullOnce(t, m); m.top().found == nil || m.top().notFound != "" {
		t.Error("it is not asked for again")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	m := shown(t, Options{Source: &fixed{snapshot: idle()}}, 120, 40)
	id := m.top().feed.stream.id
	var page weak.Pointer[observe.Record]
	for i := range 5 {
		records := writes(uint64(1+i*50_000), 50_000)
		page = weak.Make(&records[0])
		m = send(t, m, pulled{answers: []answer{{id, observe.Page{Records: records, Next: uint64((i + 1) * 50_000)}}}})
	}
	entries := m.top().feed.entries
	if got := len(entries); got != feedSize+1 || cap(entries) > 2*feedSize {
		t.Errorf("%d entries in room for %d, want %d and a note", got, cap(entries), feedSize)
	}
	if entries[0].missed != 45_000 {
		t.Errorf("the note says that %d are not shown", entries[0].missed)
	}
	runtime.GC()
	if page.Value() != nil {
		t.Error("the pages that were pulled are kept")
	}
	if last := entries[feedSize].record.Seq; last != 250_000 {
		t.Errorf("the newest is %d", last)
	}
}

// blocked is a source that never answers.
type blocked struct{ asked chan struct{} }

func (b *blocked) Snapshot(ctx context.Context) (observe.Snapshot, error) {
	close(b.asked)
	<-ctx.Done()
	return observe.Snapshot{}, ctx.Err()
}

func (b *blocked) Records(ctx context.Context, _ observe.Query) (observe.Page, error) {
	<-ctx.Done()
	return observe.Page{}, ctx.Err()
}

func TestSilenceIsSaid(t *testing.T) {
	m := newModel(t.Context(), Options{Source: &blocked{}, NoColor: true})
	m = send(t, m, tea.WindowSizeMsg{Width: 80, Height: 24}, tickMsg(now), tickMsg(now.Add(silentAfter+2*time.Second)))
	if got := m.View().Content; !strings.Contains(got, "no answer from the control plane for 5s; waiting") {
		t.Errorf("the silence is not said:\n%s", got)
	}
}
