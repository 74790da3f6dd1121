package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/replay"
)

// frame is what a source shows at one moment, and the records that are new.
type frame struct {
	snapshot observe.Snapshot
	records  []observe.Record
}

// frames are those of a control plane that gets work, fails, and becomes idle: one a
// second, with the records of sampleRecords.
func frames() (list []frame) {
	records, last := sampleRecords(), uint64(0)
	for i, s := range []observe.Snapshot{idleSnapshot(), burstSnapshot(), rolloutSnapshot(), troubledSnapshot(), heldSnapshot(), operatorSnapshot(), idleSnapshot()} {
		s.Time = testNow.Add(time.Duration(i) * time.Second)
		f := frame{snapshot: s}
		for range 3 {
			if len(records) == 0 {
				break
			}
			r := records[0]
			records = records[1:]
			r.Time = s.Time.Add(-time.Duration(3-len(f.records)) * 100 * time.Millisecond)
			f.records, last = append(f.records, r), r.Seq
		}
		f.snapshot.Journal.Last = last
		list = append(list, f)
	}
	return list
}

// writeRecording writes what a recorder writes while a source shows frames.
func writeRecording(t *testing.T, list []frame) *replay.Recording {
	t.Helper()
	var b bytes.Buffer
	line := func(v any) {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(data, '\n'))
	}
	line(replay.NewHeader(testNow))
	var buffer replay.Buffer
	for i, f := range list {
		if i > 0 && !f.snapshot.Process.Started.Equal(list[i-1].snapshot.Process.Started) {
			b.Write(buffer.Lines())
			buffer.Clear()
			line(map[string]string{"kind": "restarted"})
		}
		for _, r := range f.records {
			line(r)
		}
		if err := buffer.Add(f.snapshot); err != nil {
			t.Fatal(err)
		}
	}
	b.Write(buffer.Lines())
	path := filepath.Join(t.TempDir(), "recording.jsonl")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := replay.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// newReplayModel returns a model that shows a recording, paused at its beginning.
func newReplayModel(t *testing.T, r *replay.Recording, w, h int) model {
	t.Helper()
	begin := r.Begin()
	m := newModel(t.Context(), Options{Replay: r, At: &begin, Attached: true}).withColor(false)
	m.zone, m.now = time.UTC, testNow
	return sendMsgs(t, m, tea.WindowSizeMsg{Width: w, Height: h})
}

// withoutPast removes what says in the header and in the footer that this is the past.
func withoutPast(m model) string {
	m.past, m.kept = nil, &replay.Buffer{}
	return m.View().Content
}

// TestReplayShowsWhatWasShown compares every screen of a replay with what was shown live.
func TestReplayShowsWhatWasShown(t *testing.T) {
	list := frames()
	recording := writeRecording(t, list)
	pages := map[string]func(model) model{
		"queues":     func(m model) model { return m },
		"all":        func(m model) model { return pressKeys(t, m, "tab", "a") },
		"controller": func(m model) model { return m.openController("deployment-controller") },
		"clients":    func(m model) model { return m.openClients() },
	}
	for _, size := range [][2]int{{80, 24}, {100, 30}, {140, 40}} {
		for name, open := range pages {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size[0], size[1]), func(t *testing.T) {
				source := &fixedSource{}
				var live []string
				for _, f := range list {
					source.snapshot, source.records = f.snapshot, append(source.records, f.records...)
					m := open(newPlainModel(t, Options{Source: source, Attached: true}, size[0], size[1]))
					live = append(live, withoutPast(pullOnce(t, m)))
				}
				m := open(newReplayModel(t, recording, size[0], size[1]))
				m = m.showMoment(recording.Begin())
				for i := range list { // forward, then back
					if i > 0 {
						m = pressKeys(t, m, ".")
					}
					m = m.arrangeRows(true)
					if diff := cmp.Diff(live[i], withoutPast(m)); diff != "" {
						t.Fatalf("after %d s (-live +replay):\n%s", i, diff)
					}
				}
				for i := len(list) - 2; i >= 0; i-- {
					m = pressKeys(t, m, ",").arrangeRows(true)
					if diff := cmp.Diff(live[i], withoutPast(m)); diff != "" {
						t.Fatalf("back at %d s (-live +replay):\n%s", i, diff)
					}
				}
			})
		}
	}
}

func TestReplayScreens(t *testing.T) {
	recording := writeRecording(t, frames())
	for _, size := range [][2]int{{80, 24}, {100, 30}} {
		m := newReplayModel(t, recording, size[0], size[1])
		m = pressKeys(t, m, ".", ".", ".")
		expectFits(t, m)
		testutil.Golden(t, fmt.Sprintf("testdata/replay-%dx%d.golden", size[0], size[1]), []byte(m.View().Content+"\n"))
		m = pressKeys(t, m, "?")
		expectFits(t, m)
		testutil.Golden(t, fmt.Sprintf("testdata/replay-help-%dx%d.golden", size[0], size[1]), []byte(m.View().Content+"\n"))
	}
}

// tick sends a tick some time after the one before.
func tick(t *testing.T, m model, after time.Duration) model {
	t.Helper()
	m, _ = m.handleTick(m.now.Add(after))
	return m
}

func TestPlaying(t *testing.T) {
	recording := writeRecording(t, frames())
	m := newReplayModel(t, recording, 100, 30)
	at := func() time.Duration { return m.past.Position.At.Sub(recording.Begin().At) }
	steps := []struct {
		key  string
		pass time.Duration
		want time.Duration
	}{
		{"space", time.Second, time.Second}, {"]", time.Second, 3 * time.Second}, {"[", time.Second, 4 * time.Second},
		{"[", 500 * time.Millisecond, 4250 * time.Millisecond}, {"space", time.Second, 4250 * time.Millisecond},
		{",", 0, 3250 * time.Millisecond}, {".", 0, 4250 * time.Millisecond}, {"home", 0, 0}, {",", 0, 0}, {"end", 0, 6 * time.Second}, {".", 0, 6 * time.Second},
		{"left", 0, 0}, {"right", 0, 6 * time.Second},
	}
	for i, s := range steps {
		m = tick(t, pressKeys(t, m, s.key), s.pass)
		if at() != s.want {
			t.Fatalf("step %d, %q: at %s, want %s", i, s.key, at(), s.want)
		}
	}
	m = tick(t, pressKeys(t, m, "home", "space"), time.Hour)
	if at() != 6*time.Second || m.past.Playing {
		t.Errorf("at %s, playing %t; want to stop at the end", at(), m.past.Playing)
	}
	if m = pressKeys(t, m, "space"); !strings.Contains(m.message, "Home goes to its beginning") {
		t.Errorf("message %q", m.message)
	}
}

func TestStepByRecord(t *testing.T) {
	recording := writeRecording(t, frames())
	m := newReplayModel(t, recording, 100, 30)
	var shown []int
	for range 4 {
		m = pressKeys(t, m, "s")
		shown = append(shown, len(m.currentScreen().feed.entries))
	}
	for range 2 {
		m = pressKeys(t, m, "S")
		shown = append(shown, len(m.currentScreen().feed.entries))
	}
	first := shown[0]
	if diff := cmp.Diff([]int{first, first + 1, first + 2, first + 3, first + 2, first + 1}, shown); diff != "" {
		t.Errorf("entries after each step (-want +got):\n%s", diff)
	}
}

func TestGoToTime(t *testing.T) {
	recording := writeRecording(t, frames())
	m := newReplayModel(t, recording, 100, 30)
	typed := func(text string) {
		m = pressKeys(t, m, "@")
		m = pressKeys(t, m, strings.Split(text, "")...)
		m = pressKeys(t, m, "enter")
	}
	if typed("2s"); !m.past.Position.At.Equal(testNow.Add(2 * time.Second)) {
		t.Errorf("at %s: %s", m.past.Position.At, m.message)
	}
	if typed("12:00:09"); !m.past.Position.At.Equal(testNow.Add(4 * time.Second)) {
		t.Errorf("at %s: %s", m.past.Position.At, m.message)
	}
	if typed("noon"); !strings.Contains(m.message, `"noon" is not a time`) {
		t.Errorf("message %q", m.message)
	}
}

// TestInterventionsAreOffInTheRecording says why in one line.
func TestInterventionsAreOffInTheRecording(t *testing.T) {
	m := newReplayModel(t, writeRecording(t, frames()), 80, 24)
	for key, want := range map[string]string{
		"p": "a controller cannot be changed: this is a recording", "x": "a controller cannot be changed", "P": "a page cannot be served",
		"e": "the YAML of objects is not recorded",
	} {
		if got := pressKeys(t, m, key); !strings.Contains(got.message, want) || len(got.message) > 78 {
			t.Errorf("%q: message %q, want %q", key, got.message, want)
		}
	}
}

// pullPast lets the model go back in time, as the loop does.
func pullPast(t *testing.T, m model) model {
	t.Helper()
	m, cmd := m.performAction(timeBack)
	if cmd == nil {
		t.Fatalf("no command: %s", m.message)
	}
	return sendMsgs(t, m, cmd())
}

// Keys pressed before the past is shown are meant for it: in the present, "[" slows down the
// control plane, and "p" pauses a controller.
func TestKeysWhileThePastIsRead(t *testing.T) {
	list := frames()
	source := &intervenableSource{fixedSource: &fixedSource{snapshot: list[0].snapshot, records: list[0].records}}
	present := newPlainModel(t, Options{Source: source, Attached: true}, 100, 30)
	for _, f := range list[1:] {
		source.snapshot, present.now = f.snapshot, f.snapshot.Time
		present = pullOnce(t, present)
	}
	m, read := present.performAction(timeBack)
	for _, key := range []string{"p", "[", "space", ","} {
		next, cmd := m.Update(keyMsg(key))
		m = next.(model)
		if cmd != nil || m.frozen || m.confirming != nil || m.past != nil || !strings.Contains(m.message, "esc cancels") {
			t.Fatalf("%q acts on the present: message %q", key, m.message)
		}
	}
	canceled := sendMsgs(t, pressKeys(t, m, "esc"), read())
	if canceled.past != nil || canceled.message != "" {
		t.Errorf("canceled: in the past, message %q", canceled.message)
	}
	if len(source.calls) > 0 {
		t.Errorf("calls %q", source.calls)
	}

	m, read = present.performAction(timeBack)
	m = sendMsgs(t, pressKeys(t, m, "space", "["), read())
	if m.past == nil || !m.past.Playing || m.past.Speed() != "1/2" {
		t.Errorf("past %+v: the keys were not applied to it", m.past)
	}
}

// TestLookBack goes back in the live view, and to now again.
func TestLookBack(t *testing.T) {
	list := frames()
	source := &fixedSource{snapshot: list[0].snapshot, records: list[0].records}
	m := newPlainModel(t, Options{Source: source, Attached: true}, 100, 30)
	var live []string
	for i, f := range list {
		if i > 0 {
			source.snapshot, source.records = f.snapshot, append(source.records, f.records...)
			m.now = f.snapshot.Time
			m = pullOnce(t, m).arrangeRows(true)
		}
		live = append(live, m.View().Content)
	}
	m = pullPast(t, m)
	for back := 1; back < len(list); back++ {
		if back > 1 {
			m = pressKeys(t, m, ",")
		}
		m = m.arrangeRows(true)
		if diff := cmp.Diff(live[len(list)-1-back], withoutPast(m)); diff != "" {
			t.Fatalf("%d s ago (-live +past):\n%s", back, diff)
		}
		if got := m.View().Content; !strings.Contains(got, fmt.Sprintf("PAST ‖ 12:00:%02d.0 0:%02d ago", 11-back, back)) {
			t.Errorf("the header does not say that this is %d s ago:\n%s", back, got)
		}
	}
	if m = pressKeys(t, m, ","); m.message != "nothing earlier was kept" {
		t.Errorf("message %q", m.message)
	}
	if m = pressKeys(t, m, "p"); m.message != "a controller cannot be changed: this is the past, End goes back to now" {
		t.Errorf("message %q", m.message)
	}
	// What happens meanwhile is kept, and not shown.
	meanwhile := burstSnapshot()
	meanwhile.Time = list[len(list)-1].snapshot.Time.Add(time.Second)
	source.snapshot = meanwhile
	before := m.View().Content
	m = sendMsgs(t, m, m.pullCmd(m.neededPull())())
	if diff := cmp.Diff(before, m.View().Content); diff != "" {
		t.Errorf("the past has changed:\n%s", diff)
	}
	m, cmd := m.performAction(timeNow)
	m = sendMsgs(t, m, cmd())
	if m.past != nil || !m.snapshot.Time.Equal(meanwhile.Time) {
		t.Errorf("the present is not shown: %s", m.snapshot.Time)
	}
	m = pullPast(t, m)
	if !m.past.Position.At.Equal(meanwhile.Time.Add(-time.Second)) || !m.past.Recording.End().At.Equal(meanwhile.Time) {
		t.Errorf("at %s, kept until %s", m.past.Position.At, m.past.Recording.End().At)
	}
}

// TestLatePullOfThePresent arrives when the past is shown.
func TestLatePullOfThePresent(t *testing.T) {
	list := frames()
	source := &fixedSource{snapshot: list[0].snapshot, records: list[0].records}
	m := newPlainModel(t, Options{Source: source, Attached: true}, 100, 30)
	source.snapshot = list[1].snapshot
	m = pullOnce(t, m)
	late := m.pullCmd(m.neededPull())()
	m.pulling, m.pullStarted = true, m.now
	m = pullPast(t, m)
	before := m.View().Content
	if m = sendMsgs(t, m, late); m.View().Content != before {
		t.Error("a late pull of the present is shown in the past")
	}
	waited := m
	waited.now = m.now.Add(silenceThreshold + 2*time.Second)
	if got := waited.View().Content; strings.Contains(got, "no response") {
		t.Errorf("the late pull is waited for:\n%s", got)
	}
	pulled := m.now.Add(pullInterval)
	if m, _ = m.handleTick(pulled); !m.pulling || !m.pullStarted.Equal(pulled) {
		t.Errorf("what happens meanwhile is not kept: pulling %t since %s", m.pulling, m.pullStarted)
	}
}

// TestReplayAcrossARestart shows the records of each process, also when paused.
func TestReplayAcrossARestart(t *testing.T) {
	list := frames()[:4]
	for i := range list[2:] { // of the second process, which numbers its records from 1 again
		f := &list[2+i]
		f.snapshot.Process.Started = testNow.Add(1500 * time.Millisecond)
		for n := range f.records {
			f.records[n].Seq = uint64(3*i + n + 1)
		}
		f.snapshot.Journal.Last = uint64(3*i + len(f.records))
	}
	recording := writeRecording(t, list)
	m := newReplayModel(t, recording, 100, 30)
	m = pressKeys(t, m, "a")
	for _, by := range []time.Duration{shortMove, shortMove, shortMove, -shortMove, -shortMove, shortMove} {
		m = m.moveInTime(by)
		shown := m.currentScreen().feed.stream
		page, err := m.shownSource().Records(t.Context(), observe.Query{Reads: true})
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, r := range page.Records {
			if m.recordFilter(queuesScreen)(r.Event) {
				want++
			}
		}
		if got := len(shown.entries); want == 0 || got != want {
			t.Errorf("at %s: %d entries, want %d", m.past.Position.At, got, want)
		}
	}
}

// TestStoryOfThePast traces with the records of the moment only.
func TestStoryOfThePast(t *testing.T) {
	recording := writeRecording(t, frames())
	m := newReplayModel(t, recording, 100, 30)
	for _, c := range []struct {
		at   replay.Position
		want bool
	}{{recording.Begin(), false}, {recording.End(), true}} {
		m = m.showMoment(c.at)
		result := m.storyCmd(showTrace, target{object: &webPod})().(storyResult)
		if got := result.err == nil; got != c.want {
			t.Errorf("at %s: %v", c.at.At, result.err)
		}
	}
}

// w says of the past what "ctrlplane why --from" says of a recording, which has no objects.
func TestWhyOfThePast(t *testing.T) {
	shown := frame{snapshot: idleSnapshot(), records: append(createdJob(), recordsOf(&observe.Called{
		Controller: "job-controller", Verb: "create", Status: 201, Object: observe.Object{Resource: "events", Namespace: "default", Name: "e"},
		Event: &observe.KubernetesEvent{Type: "Warning", Reason: "FailedCreate", Note: "no quota", Regarding: brokenJob0},
	})...)}
	for i := range shown.records {
		shown.records[i].Seq = uint64(i + 1)
	}
	m := newReplayModel(t, writeRecording(t, []frame{shown}), 140, 30)
	told := m.showMoment(m.past.Recording.End()).storyCmd(showWhy, target{object: &brokenJob0})().(storyResult)
	if got := strings.Join(strings.Fields(told.text), " "); told.err != nil || !strings.Contains(got, "FailedCreate: no quota. Whether it was ready is not known") {
		t.Errorf("%v\n%s", told.err, got)
	}
}

// TestFailedRecords does not go to the past if the source does not answer.
func TestFailedRecords(t *testing.T) {
	source := &fixedSource{snapshot: idleSnapshot(), records: sampleRecords()}
	m := newPlainModel(t, Options{Source: source}, 100, 30)
	source.err = context.DeadlineExceeded
	if m = pullPast(t, m); m.past != nil || m.message != "context deadline exceeded" {
		t.Errorf("past %v, message %q", m.past, m.message)
	}
}

// TestScreensOpenedWhilePaused have their records without a move in time.
func TestScreensOpenedWhilePaused(t *testing.T) {
	recording := writeRecording(t, frames())
	entries := func(m model) int { return len(m.currentScreen().feed.entries) }
	m := pressKeys(t, newReplayModel(t, recording, 100, 30), "end")
	notable := entries(m)
	all := pressKeys(t, m, "a")
	if entries(all) <= notable {
		t.Errorf("a: %d entries, want more than %d", entries(all), notable)
	}
	page := pressKeys(t, m, "enter") // of deployment-controller
	if entries(page) == 0 {
		t.Error("the page of a controller has no entries")
	}
	above := pressKeys(t, page.openController("job-controller"), ",", ",", ",", ",", ",")
	if back := pressKeys(t, above, "esc"); entries(back) == 0 || entries(back) >= entries(page) {
		t.Errorf("back at an earlier moment: %d entries, want some of %d", entries(back), entries(page))
	}
}

// A list of objects is one of the present: in the past it is neither shown nor refreshed.
func TestObjectsAreNotListedInThePast(t *testing.T) {
	source := newBrowsableSource()
	present := openPods(t, newPlainModel(t, Options{Source: source}, 100, 24))
	m := pullPast(t, pressKeys(t, present, "j"))
	if m.now = m.now.Add(browseInterval); m.needsBrowsing() {
		t.Error("the list is refreshed")
	}
	got := m.View().Content
	if strings.Contains(got, "web-7d4b9c-z") || strings.Contains(got, "healthy") || !strings.Contains(got, "  the objects are not recorded, only their activity\n") {
		t.Errorf("in the past:\n%s", got)
	}
	if m = pressKeys(t, m, "enter"); m.currentScreen().kind != browserScreen || m.selectedObject() != nil {
		t.Errorf("selected %v, opened %+v", m.selectedObject(), m.currentScreen().object)
	}
	expectFits(t, m)
	m, _ = m.backToNow()
	if o := m.selectedObject(); o == nil || o.Name != "web-7d4b9c-x2x9p" || !m.needsBrowsing() {
		t.Errorf("back in the present, selected %v, refreshes %t", o, m.needsBrowsing())
	}
}
