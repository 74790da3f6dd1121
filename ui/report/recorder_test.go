package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/replay"
	"github.com/ctrlplane/ctrlplane/ui"
)

// recordLines returns what a recorder writes of src while do runs.
func recordLines(t *testing.T, src replay.Source, do func()) (lines []string, missed uint64) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	r := replay.Start(replay.Config{Source: src, File: file, OnRecord: newDigest().add})
	do()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	data := testutil.ReadFile(t, file.Name())
	return strings.Split(strings.TrimSuffix(data, "\n"), "\n"), r.Missed()
}

// TestEventsMatchFollowJSON compares the file with the output of "--ui json" for the
// same records.
func TestEventsMatchFollowJSON(t *testing.T) {
	j := rolloutJournal(300)
	got, _ := recordLines(t, j, func() {})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var b bytes.Buffer
	followed := writerFunc(func(data []byte) (int, error) { // one write per poll
		n, err := b.Write(data)
		cancel()
		return n, err
	})
	if err := ui.Follow(ctx, j, 0, ui.NewJSONWriter(followed)); err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if diff := cmp.Diff(recordLinesOf(t, want), recordLinesOf(t, got)); diff != "" {
		t.Errorf("(-followed +written):\n%s", diff)
	}
	if headerOf(t, want[0]) != headerOf(t, got[0]) {
		t.Errorf("the first line is %s, want the kind and version of %s", got[0], want[0])
	}
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(data []byte) (int, error) { return w(data) }

// recordLinesOf returns the lines that have a seq.
func recordLinesOf(t *testing.T, lines []string) (records []string) {
	t.Helper()
	for _, line := range lines {
		var r struct{ Seq uint64 }
		testutil.DecodeJSON(t, line, &r)
		if r.Seq > 0 {
			records = append(records, line)
		}
	}
	return records
}

func headerOf(t *testing.T, line string) string {
	t.Helper()
	var h struct {
		Kind    string
		Version int
	}
	testutil.DecodeJSON(t, line, &h)
	return fmt.Sprintf("%s %d", h.Kind, h.Version)
}

// TestEveryRecordIsWrittenOrCounted appends records to an observer that keeps 1000,
// as fast as possible.
func TestEveryRecordIsWrittenOrCounted(t *testing.T) {
	o := observe.New(observe.Options{Records: 1000})
	defer o.Close()
	const writers, each = 4, 2000
	lines, missed := recordLines(t, o, func() {
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := range each {
					o.Append(&observe.ControllerChanged{Controller: fmt.Sprint(w), State: fmt.Sprint(i)})
				}
			})
		}
		all.Wait()
	})
	if got := uint64(len(recordLinesOf(t, lines))); got+missed != writers*each {
		t.Errorf("%d records written and %d missed, want %d together", got, missed, writers*each)
	}
}

func TestMissedRecordsAreCounted(t *testing.T) {
	j := rolloutJournal(100)
	j.dropOldest(30)
	lines, missed := recordLines(t, j, func() {})
	if missed != 30 || !strings.Contains(lines[2], `"kind":"missed"`) || !strings.Contains(lines[2], `"missed":30`) {
		t.Errorf("%d missed, the line after the first snapshot is %s", missed, lines[2])
	}
}

func TestWriteErrorDoesNotStopDigest(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil { // so that writes fail
		t.Fatal(err)
	}
	d := newDigest()
	r := replay.Start(replay.Config{Source: rolloutJournal(1000), File: file, OnRecord: d.add})
	if err := r.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if d.records < 1000 {
		t.Errorf("the digest has %d records", d.records)
	}
}

func TestMarksAreBounded(t *testing.T) {
	m := marks{max: 100}
	for i := range 10000 {
		one := mark{kind: syncKind, took: time.Duration(i % 1000), seq: uint64(i)}
		if i%1000 == 7 {
			one.tone = toneFailed
		}
		m.add(one)
	}
	m.dropLeastImportant()
	if len(m.list) != 100 || m.dropped != 9900 {
		t.Errorf("%d kept, %d dropped", len(m.list), m.dropped)
	}
	bad := 0
	for i, one := range m.list {
		if one.tone == toneFailed {
			bad++
		} else if one.took < 900 {
			t.Errorf("a sync that took %d was kept", one.took)
		}
		if i > 0 && one.seq < m.list[i-1].seq {
			t.Error("out of order")
		}
	}
	if bad != 10 {
		t.Errorf("%d of 10 failures are kept", bad)
	}
}

func TestQueueCurves(t *testing.T) {
	at := func(ms int) time.Time { return runStart.Add(time.Duration(ms) * time.Millisecond) }
	ms := time.Millisecond
	d := newDepthTracker()
	d.addSync(at(30), &observe.Synced{Controller: "a", Queue: "q", Waited: 10 * ms, Took: 10 * ms}) // 10–20
	d.addSync(at(50), &observe.Synced{Controller: "a", Queue: "q", Waited: 25 * ms, Took: 10 * ms}) // 15–40
	d.addChange(at(60), &observe.QueueChanged{Controller: "a", Queue: "q", MaxDepth: 2})
	d.addChange(at(1000), &observe.QueueChanged{Controller: "b", Queue: "still", Depth: 3, MaxDepth: 5})
	d.addChange(at(2000), &observe.QueueChanged{Controller: "b", Queue: "still", Depth: 2, MaxDepth: 7})
	d.addSync(at(2000), &observe.Synced{Controller: "b", Queue: "still", Waited: ms})
	d.addChange(at(100), &observe.QueueChanged{Controller: "c", Queue: "empty"})
	want := []queueCurve{
		{Controller: "b", Queue: "still", Max: 7, Points: [][2]float64{{1000, 5}, {1000, 3}, {1500, 7}, {2000, 2}}},
		{Controller: "a", Queue: "q", Max: 2, Exact: true, Points: [][2]float64{{10, 1}, {15, 2}, {20, 1}, {40, 0}}},
	}
	if diff := cmp.Diff(want, d.queueCurves(runStart)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCurvesAreThinned(t *testing.T) {
	var points []depthPoint
	for i := range 100000 {
		points = append(points, depthPoint{runStart.Add(time.Duration(i) * time.Millisecond), int64(i % 50)})
	}
	points[77777].depth = 1234
	thinned := thinPoints(points)
	if len(thinned) > maxPoints || len(thinned) < maxPoints/4 || maxDepth(thinned) != 1234 {
		t.Errorf("%d points, maximum %d", len(thinned), maxDepth(thinned))
	}
}

func TestErrorGroups(t *testing.T) {
	g := newGroups()
	for i := range 1000 {
		g.add("Conflict", "c", "update pods", fmt.Sprintf(`cannot update "web-%d"`, i), mark{at: runStart.Add(time.Duration(i))})
	}
	g.add("Failed sync", "c", "q", "boom", mark{})
	for i := range 2 * maxGroups {
		g.add("Failed call", fmt.Sprint("controller-", i), "", "", mark{})
	}
	list := g.sortedGroups()
	if len(list) != maxGroups || g.dropped != maxGroups+2 {
		t.Errorf("%d groups, %d errors dropped", len(list), g.dropped)
	}
	if list[0].Kind != "Failed sync" {
		t.Errorf("the first is %+v", list[0])
	}
	last := list[len(list)-1]
	if last.Count != 1000 || last.Message != `cannot update "web-999"` || !last.First.Equal(runStart) {
		t.Errorf("the last is %+v", last)
	}
}
