package live

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	tea "charm.land/bubbletea/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// countCommands returns the number of commands in a batch.
func countCommands(cmd tea.Cmd) (n int) {
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
	m := newTestModel(t, Options{Source: &fixedSource{snapshot: idleSnapshot()}}, 80, 24)
	m, cmd := m.handleTick(testNow)
	if got := countCommands(cmd); got != 2 || !m.pulling {
		t.Fatalf("%d commands, pulling %t; want a tick and a pull", got, m.pulling)
	}
	for range 20 {
		now := m.now.Add(pullInterval)
		if m, _ = m.handleTick(now); m.pullStarted == now {
			t.Fatal("a pull started while another was in progress")
		}
	}
	m = sendMsgs(t, m, pullResult{})
	if m, _ = m.handleTick(m.now.Add(pullInterval)); m.pullStarted != m.now {
		t.Error("no pull started after the response")
	}
}

func TestPullErrorIsShownAndRetried(t *testing.T) {
	source := &fixedSource{snapshot: idleSnapshot(), records: podCreations(1, 3)}
	m := newPlainModel(t, Options{Source: source}, 120, 24)
	source.err = errors.New("connection\nrefused\x1b[2J")
	m = pullOnce(t, m)
	if got := m.View().Content; !strings.Contains(got, "cannot reach the control plane: connection refused[2J; retrying") {
		t.Errorf("the error is not shown:\n%s", got)
	}
	if m, _ = m.handleTick(m.now.Add(pullInterval)); m.pulling {
		t.Error("the view retries without a delay")
	}
	if m, _ = m.handleTick(m.now.Add(retryDelay)); !m.pulling {
		t.Error("the view does not retry")
	}
	source.err = nil
	m = pullOnce(t, m)
	if got := m.View().Content; strings.Contains(got, "lost") || !strings.Contains(got, "web-2") {
		t.Errorf("the view does not recover:\n%s", got)
	}
	m = sendMsgs(t, m, pullResult{err: context.DeadlineExceeded})
	if want := "no response within 10s"; m.pullError != want {
		t.Errorf("error %q, want %q", m.pullError, want)
	}
}

// refusingSource refuses queries for records of a controller, or all.
type refusingSource struct {
	*fixedSource
	refusal error
	all     bool
}

func (s refusingSource) Records(ctx context.Context, q observe.Query) (observe.Page, error) {
	if s.all || q.Controller != "" {
		return observe.Page{}, s.refusal
	}
	return s.fixedSource.Records(ctx, q)
}

// After a restart, the control plane does not know clients until they ask again, and its numbers of records begin again. It is
// reachable all the same.
func TestPullAfterARestart(t *testing.T) {
	src := &fixedSource{snapshot: idleSnapshot(), records: podCreations(1, 3)}
	of, all := streamQuery{1, observe.Query{Controller: "suite (kubernetes-admin)"}}, streamQuery{2, observe.Query{After: 7}}
	unknown, gone := usage.Errorf("unknown controller or client"), &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonGone, Message: "the last record is 3"}}
	for name, tc := range map[string]struct {
		source refusingSource
		want   int // pages, or an error
	}{
		"unknown client":                 {refusingSource{src, unknown, false}, 2},
		"a query that is not valid":      {refusingSource{src, unknown, true}, -1},
		"behind the last record":         {refusingSource{src, gone, true}, 2},
		"the records cannot be received": {refusingSource{src, errors.New("refused"), false}, -1},
	} {
		p := pullFrom(t.Context(), tc.source, pullRequest{snapshot: true, queries: []streamQuery{of, all}})
		if (p.err != nil) != (tc.want < 0) || tc.want >= 0 && len(p.pages) != tc.want {
			t.Errorf("%s: %d pages, error %v", name, len(p.pages), p.err)
		}
	}
}

func TestScreenIsStableWithoutNewData(t *testing.T) {
	m := newTestModel(t, Options{Source: &fixedSource{snapshot: burstSnapshot(), records: podCreations(1, 30)}}, 120, 40)
	before := m.View().Content
	for i := range 20 {
		m, _ = m.handleTick(m.now.Add(pullInterval))
		m = sendMsgs(t, m, m.pullCmd(m.neededPull())())
		if got := m.View().Content; got != before {
			t.Fatalf("pull %d changed the screen:\n%s", i, got)
		}
	}
}

func TestRowsKeepTheirOrder(t *testing.T) {
	s := burstSnapshot()
	source := &fixedSource{snapshot: s}
	m := newTestModel(t, Options{Source: source}, 120, 40)
	m = pressKeys(t, m, "j") // picks the deployments
	order := firstRows(m, 3)
	swap := burstSnapshot()
	swap.Time = testNow.Add(orderKeepTime / 2)
	swap.Queues[0].Depth, swap.Queues[1].Depth = 9000, 1
	source.snapshot = swap
	m = pullOnce(t, m)
	if got := firstRows(m, 3); strings.Join(got, " ") != strings.Join(order, " ") {
		t.Errorf("the rows moved to %v within %v", got, orderKeepTime)
	}
	source.snapshot.Time = testNow.Add(orderKeepTime)
	m = pullOnce(t, m)
	if got := firstRows(m, 1); got[0] != "deployment" {
		t.Errorf("%v is first, want the busiest", got)
	}
	if got := m.screens[0].view.cursor; m.rows[got].name != "deployment" {
		t.Errorf("the cursor moved to %v", m.rows[got].name)
	}
}

// After the clock was set back, rows do not keep their places until it has caught up.
func TestOrderAfterTheClockWasSetBack(t *testing.T) {
	source := &fixedSource{snapshot: burstSnapshot()}
	m := newTestModel(t, Options{Source: source}, 120, 40)
	source.snapshot = burstSnapshot()
	source.snapshot.Time = testNow.Add(-time.Hour)
	source.snapshot.Queues[0].Depth, source.snapshot.Queues[1].Depth = 9000, 1
	m = pullOnce(t, m)
	if got := firstRows(m, 1); got[0] != "deployment" {
		t.Errorf("%v is first, want the busiest", got)
	}
}

func TestNewlyActiveRowMovesUpImmediately(t *testing.T) {
	source := &fixedSource{snapshot: idleSnapshot()}
	m := newTestModel(t, Options{Source: source}, 120, 40)
	source.snapshot = burstSnapshot() // in the same second
	if m = pullOnce(t, m); firstRows(m, 1)[0] != "replicaset" {
		t.Errorf("%v are first", firstRows(m, 3))
	}
}

func TestFrozenViewPullsNothing(t *testing.T) {
	source := &inspectableSource{&fixedSource{snapshot: idleSnapshot(), records: podCreations(1, 3)}, webInspection()}
	m := pressKeys(t, newTestModel(t, Options{Source: source}, 120, 40), "space")
	if !m.neededPull().isEmpty() {
		t.Errorf("a frozen view pulls %+v", m.neededPull())
	}
	m = pressKeys(t, m, "tab", "enter", "enter")
	if w := m.neededPull(); w.snapshot || len(w.queries) != 1 {
		t.Errorf("a page opened in a frozen view pulls %+v", w)
	}
	m = pullOnce(t, m)
	if !m.neededPull().isEmpty() || m.currentScreen().inspection == nil {
		t.Errorf("the page is not loaded: %+v", m.neededPull())
	}
	if w := pressKeys(t, m, "space").neededPull(); !w.snapshot || len(w.queries) != 2 {
		t.Errorf("a resumed view pulls %+v", w)
	}
}

func TestRestartedControlPlaneResetsFeed(t *testing.T) {
	source := &fixedSource{snapshot: idleSnapshot(), records: podCreations(1, 100)}
	m := newTestModel(t, Options{Source: source}, 120, 40)
	source.snapshot.Process.Started = testNow
	source.records = podCreations(1, 2)
	m = pullOnce(t, pullOnce(t, m))
	if got := len(m.currentScreen().feed.entries); got != 2 {
		t.Errorf("%d records are shown, want the 2 of the new process", got)
	}
}

// What the control plane says of itself is shown among the activity, as a restore, and so are warnings of controllers.
func TestRestoreAndWarningsAreShown(t *testing.T) {
	source := &fixedSource{snapshot: idleSnapshot(), records: recordsOf(
		&observe.Logged{Controller: "job-controller", Level: int(slog.LevelInfo), Message: "a line"},
		&observe.Logged{Controller: "job-controller", Level: int(slog.LevelWarn), Message: "a warning"},
		&observe.Logged{Controller: "ctrlplane", Level: int(slog.LevelInfo), Message: "a snapshot was restored: 2 objects changed"},
	)}
	entries := newTestModel(t, Options{Source: source}, 120, 40).currentScreen().feed.entries
	if len(entries) != 2 || describeRecord(entries[0].record).subject != "a warning" || !strings.Contains(describeRecord(entries[1].record).subject, "a snapshot was restored") {
		t.Errorf("got %+v", entries)
	}
}

func TestInspectionErrorIsShown(t *testing.T) {
	source := &inspectableSource{&fixedSource{snapshot: idleSnapshot(), records: podCreations(1, 3)}, webInspection()}
	m := pressKeys(t, newPlainModel(t, Options{Source: source}, 120, 40), "tab", "enter", "enter")
	source.err = errors.New("forbidden")
	object := m.currentScreen().object
	m = sendMsgs(t, m, inspectResult{object: object, err: source.err})
	if got := m.View().Content; !strings.Contains(got, "cannot get the object: forbidden") {
		t.Errorf("the error is not shown:\n%s", got)
	}
	source.found.Dependents = source.found.Dependents[:0:0]
	m = sendMsgs(t, m, m.inspectCmd(object)()) // an inspection and an error
	if got := m.View().Content; strings.Contains(got, "cannot get the object") || !strings.Contains(got, "forbidden") || len(m.currentScreen().inspection.Dependents) != 0 {
		t.Errorf("the partial inspection is not shown:\n%s", got)
	}
	source.err = nil
	m.now = m.now.Add(inspectInterval)
	if m = pullOnce(t, m); m.currentScreen().inspection == nil || m.currentScreen().inspectError != "" {
		t.Error("the inspection is not repeated")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	m := newTestModel(t, Options{Source: &fixedSource{snapshot: idleSnapshot()}}, 120, 40)
	id := m.currentScreen().feed.stream.id
	var page weak.Pointer[observe.Record]
	for i := range 5 {
		records := podCreations(uint64(1+i*50_000), 50_000)
		page = weak.Make(&records[0])
		m = sendMsgs(t, m, pullResult{pages: []streamPage{{id, observe.Page{Records: records, Next: uint64((i + 1) * 50_000)}}}})
	}
	entries := m.currentScreen().feed.entries
	if got := len(entries); got != feedLimit+1 || cap(entries) > 2*feedLimit {
		t.Errorf("%d entries with capacity %d, want %d and a gap", got, cap(entries), feedLimit)
	}
	if entries[0].missed != 45_000 {
		t.Errorf("the gap has %d records", entries[0].missed)
	}
	runtime.GC()
	if page.Value() != nil {
		t.Error("the pulled pages stay in memory")
	}
	if last := entries[feedLimit].record.Seq; last != 250_000 {
		t.Errorf("the newest record is %d", last)
	}
}

// blockedSource is a source that never responds.
type blockedSource struct{ asked chan struct{} }

func (b *blockedSource) Snapshot(ctx context.Context) (observe.Snapshot, error) {
	close(b.asked)
	<-ctx.Done()
	return observe.Snapshot{}, ctx.Err()
}

func (b *blockedSource) Records(ctx context.Context, _ observe.Query) (observe.Page, error) {
	<-ctx.Done()
	return observe.Page{}, ctx.Err()
}

func TestSlowPullIsShown(t *testing.T) {
	m := newModel(t.Context(), Options{Source: &blockedSource{}}).withColor(false)
	m = sendMsgs(t, m, tea.WindowSizeMsg{Width: 80, Height: 24}, tickMsg(testNow), tickMsg(testNow.Add(silenceThreshold+2*time.Second)))
	if got := m.View().Content; !strings.Contains(got, "no response from the control plane for 5s; waiting") {
		t.Errorf("the slow pull is not shown:\n%s", got)
	}
}
