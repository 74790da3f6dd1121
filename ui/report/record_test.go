package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// recorded is what is written of a journal while do is done.
func recorded(t *testing.T, src Source, do func()) (lines []string, missed uint64) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	r := startRecording(src, file, newDigest())
	do()
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"), r.missed
}

// TestAsJSONFollowed compares with what "--ui json" writes of the same records.
func TestAsJSONFollowed(t *testing.T) {
	j := rollouts(300)
	got, _ := recorded(t, j, func() {})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var b bytes.Buffer
	followed := writer(func(data []byte) (int, error) { // one write a turn
		n, err := b.Write(data)
		cancel()
		return n, err
	})
	if err := ui.Follow(ctx, followed, j, ui.FollowOptions{JSON: true}); err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if diff := cmp.Diff(recordsOf(t, want), recordsOf(t, got)); diff != "" {
		t.Errorf("(-followed +written):\n%s", diff)
	}
	if head(t, want[0]) != head(t, got[0]) {
		t.Errorf("the first line is %s, want that of %s", got[0], want[0])
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(data []byte) (int, error) { return w(data) }

// recordsOf are the lines that have a seq.
func recordsOf(t *testing.T, lines []string) (records []string) {
	t.Helper()
	for _, line := range lines {
		var r struct{ Seq uint64 }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if r.Seq > 0 {
			records = append(records, line)
		}
	}
	return records
}

func head(t *testing.T, line string) string {
	t.Helper()
	var h struct {
		Kind    string
		Version int
	}
	if err := json.Unmarshal([]byte(line), &h); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %d", h.Kind, h.Version)
}

// TestAllIsWritten has a ring of 1000 and many more records, as fast as an
// observer takes them.
func TestAllIsWritten(t *testing.T) {
	o := observe.New(observe.Options{Records: 1000})
	defer o.Close()
	const writers, each = 4, 2000
	lines, missed := recorded(t, o, func() {
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
	if got := uint64(len(recordsOf(t, lines))); got+missed != writers*each {
		t.Errorf("%d records written and %d missed, want %d together", got, missed, writers*each)
	}
}

func TestMissed(t *testing.T) {
	j := rollouts(100)
	j.forget(30)
	lines, missed := recorded(t, j, func() {})
	if missed != 30 || !strings.Contains(lines[1], `"kind":"missed"`) || !strings.Contains(lines[1], `"missed":30`) {
		t.Errorf("%d missed, second line %s", missed, lines[1])
	}
}

func TestNoRoomForEvents(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil { // so that nothing can be written
		t.Fatal(err)
	}
	d := newDigest()
	r := startRecording(rollouts(1000), file, d)
	if err := r.close(); !errors.Is(err, os.ErrClosed) {
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
			one.tone = failed
		}
		m.add(one)
	}
	m.prune()
	if len(m.list) != 100 || m.left != 9900 {
		t.Errorf("%d kept, %d left out", len(m.list), m.left)
	}
	bad := 0
	for i, one := range m.list {
		if one.tone == failed {
			bad++
		} else if one.took < 900 {
			t.Errorf("a sync of %d was kept", one.took)
		}
		if i > 0 && one.seq < m.list[i-1].seq {
			t.Error("out of order")
		}
	}
	if bad != 10 {
		t.Errorf("%d failures of 10 are kept", bad)
	}
}

func TestDepths(t *testing.T) {
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	ms := time.Millisecond
	d := newDepths()
	d.synced(at(30), &observe.Synced{Controller: "a", Queue: "q", Waited: 10 * ms, Took: 10 * ms}) // 10–20
	d.synced(at(50), &observe.Synced{Controller: "a", Queue: "q", Waited: 25 * ms, Took: 10 * ms}) // 15–40
	d.changed(at(60), &observe.QueueChanged{Controller: "a", Queue: "q", MaxDepth: 2})
	d.changed(at(1000), &observe.QueueChanged{Controller: "b", Queue: "still", Depth: 3, MaxDepth: 5})
	d.changed(at(2000), &observe.QueueChanged{Controller: "b", Queue: "still", Depth: 2, MaxDepth: 7})
	d.synced(at(2000), &observe.Synced{Controller: "b", Queue: "still", Waited: ms})
	d.changed(at(100), &observe.QueueChanged{Controller: "c", Queue: "empty"})
	want := []curve{
		{Controller: "b", Queue: "still", Max: 7, Points: [][2]float64{{1000, 3}, {1500, 7}, {2000, 2}}},
		{Controller: "a", Queue: "q", Max: 2, Exact: true, Points: [][2]float64{{10, 1}, {15, 2}, {20, 1}, {40, 0}}},
	}
	if diff := cmp.Diff(want, d.curves(began)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCurvesAreThinned(t *testing.T) {
	var points []point
	for i := range 100000 {
		points = append(points, point{began.Add(time.Duration(i) * time.Millisecond), int64(i % 50)})
	}
	points[77777].depth = 1234
	thinned := thin(points)
	if len(thinned) > maxPoints || len(thinned) < maxPoints/4 || highest(thinned) != 1234 {
		t.Errorf("%d points, the highest %d", len(thinned), highest(thinned))
	}
}

func TestGroups(t *testing.T) {
	g := newGroups()
	for i := range 1000 {
		g.add("Conflict", "c", "update pods", fmt.Sprintf(`cannot update "web-%d"`, i), mark{at: began.Add(time.Duration(i))})
	}
	g.add("Failed sync", "c", "q", "boom", mark{})
	for i := range 2 * maxGroups {
		g.add("Failed call", fmt.Sprint("controller-", i), "", "", mark{})
	}
	list := g.list()
	if len(list) != maxGroups || g.left != maxGroups+2 {
		t.Errorf("%d groups, %d left out", len(list), g.left)
	}
	if list[0].Kind != "Failed sync" {
		t.Errorf("the first is %+v", list[0])
	}
	last := list[len(list)-1]
	if last.Count != 1000 || last.Message != `cannot update "web-999"` || !last.First.Equal(began) {
		t.Errorf("the last is %+v", last)
	}
}
