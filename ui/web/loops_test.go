package web

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// slowSource answers no request for records.
type slowSource struct{ *fakeSource }

func (slowSource) Records(ctx context.Context, _ observe.Query) (observe.Page, error) {
	<-ctx.Done()
	return observe.Page{}, ctx.Err()
}

// Looking for hot loops does not delay what the pages receive, and ends after a time. What it does not find again is dropped.
func TestLoopsOfASlowSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(slowSource{}, nil)
		h.loops = []hotLoop{{"job-controller", "default/a"}}
		s := observe.Snapshot{Queues: []observe.Queue{{Name: "job", AddRate: 10}}}
		s.Time = s.Time.Add(ui.LoopInterval)
		h.findLoops(t.Context(), s) // returns
		synctest.Wait()
		if h.mu.Lock(); len(h.loops) != 1 {
			t.Errorf("loops while it looks: %v", h.loops)
		}
		h.mu.Unlock()
		time.Sleep(ui.LoopInterval)
		synctest.Wait()
		if h.mu.Lock(); h.loops != nil {
			t.Errorf("loops after an error: %v", h.loops)
		}
		h.mu.Unlock()
	})
}
