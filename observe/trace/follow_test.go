package trace

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// playback is a source that returns a journal in parts.
type playback struct {
	mu      sync.Mutex
	records []observe.Record
	step    int
	at      int
	fail    error
	missed  uint64 // before the first record
}

func (p *playback) Snapshot(context.Context) (observe.Snapshot, error) {
	return observe.Snapshot{}, nil
}

func (p *playback) Records(_ context.Context, q observe.Query) (observe.Page, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = min(p.at+p.step, len(p.records))
	page := observe.Page{Next: q.After}
	if q.After == 0 {
		page.Missed = p.missed
	}
	for _, r := range p.records[:p.at] {
		if r.Seq > q.After {
			page.Records = append(page.Records, r)
			page.Next = r.Seq
		}
	}
	return page, p.fail
}

func runFollow(t *testing.T, p *playback, f Format) (string, error) {
	t.Helper()
	return followWith(t, p, Options{}, f)
}

func followWith(t *testing.T, p *playback, o Options, f Format) (string, error) {
	t.Helper()
	var out strings.Builder
	var err error
	synctest.Test(t, func(*testing.T) {
		ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
		defer stop()
		err = Follow(ctx, &out, p, deployment("web"), o, f, Style{})
	})
	return out.String(), err
}

// In whatever parts the records arrive, Follow writes the nodes of a complete trace.
func TestFollow(t *testing.T) {
	records := loadJournal(t, "scale")
	want := map[string]bool{}
	for n := range buildTree(t, "scale", deployment("web"), Options{}).All() {
		want[n.ID] = true
	}
	for _, step := range []int{1, 7, 1000} {
		got, err := runFollow(t, &playback{records: records, step: step}, JSON)
		if err != nil {
			t.Fatal(err)
		}
		written := map[string]int{}
		for line := range strings.SplitSeq(strings.TrimSpace(got), "\n") {
			_, id, _ := strings.Cut(line, `"id":"`)
			id, _, _ = strings.Cut(id, `"`)
			written[id]++
		}
		for id := range want {
			if written[id] == 0 {
				t.Errorf("in steps of %d: %s is missing", step, id)
			}
		}
		for id, n := range written {
			if !want[id] && step > 1 || n > 1 {
				t.Errorf("in steps of %d: %s is written %d times", step, id, n)
			}
		}
	}
	text, err := runFollow(t, &playback{records: records, step: 1000}, Text)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "follow", text)
}

func TestFollowReportsErrors(t *testing.T) {
	if _, err := runFollow(t, &playback{fail: errors.New("gone")}, Text); err == nil || err.Error() != "follow: gone" {
		t.Errorf("got %v", err)
	}
	if _, err := runFollow(t, &playback{}, Chrome); err == nil {
		t.Error("Follow accepts format Chrome")
	}
}

// Follow reads the records again from which its options may come: dropped records count once.
func TestFollowCountsDroppedRecordsOnce(t *testing.T) {
	p := &playback{records: loadJournal(t, "scale"), step: 1000, missed: 7}
	var o Options
	if _, err := o.ReadRecords(t.Context(), p); err != nil || o.Missed != 7 {
		t.Fatalf("%d records were dropped, %v", o.Missed, err)
	}
	got, err := followWith(t, p, o, Text)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got, "Dropped 7 older records") {
		t.Errorf("not 7 dropped records:\n%s", got)
	}
}
