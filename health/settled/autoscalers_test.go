package settled

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// autoscalerSource has a controller of autoscalers in a state, and records of its syncs that appear at their time.
type autoscalerSource struct {
	state    string
	unlisted string
	syncs    []observe.Record
}

func (s autoscalerSource) Snapshot(context.Context) (observe.Snapshot, error) {
	return observe.Snapshot{Controllers: []observe.Controller{{Name: controllernames.HorizontalPodAutoscaler, State: s.state, Unlisted: s.unlisted}}}, nil
}

func (s autoscalerSource) Records(_ context.Context, q observe.Query) (page observe.Page, err error) {
	page.Next = q.After
	for _, r := range s.syncs {
		if r.Seq > q.After && !r.Time.After(time.Now()) {
			page.Records, page.Next = append(page.Records, r), r.Seq
		}
	}
	return page, nil
}

func syncOf(seq uint64, key string, at time.Time, took time.Duration) observe.Record {
	return observe.Record{Seq: seq, Time: at, Event: &observe.Synced{Controller: controllernames.HorizontalPodAutoscaler, Key: key, Took: took}}
}

func TestWaitForAutoscalers(t *testing.T) {
	const limit = time.Minute
	for name, test := range map[string]struct {
		off      bool
		unlisted string
		healthy  time.Duration // after the beginning
		syncs    []time.Duration
		waits    time.Duration
		isMissed bool
	}{
		"healthy":                      {},
		"the controller is off":        {off: true, healthy: limit},
		"its kind cannot be listed":    {unlisted: "unknown kind", healthy: limit},
		"finds metrics":                {healthy: 13 * time.Second, syncs: []time.Duration{-time.Second, 13 * time.Second}, waits: 13 * time.Second},
		"a sync is too early":          {healthy: limit, syncs: []time.Duration{time.Second, 16 * time.Second}, waits: 16 * time.Second},
		"a sync began too early":       {healthy: limit, syncs: []time.Duration{usableAfter + time.Millisecond, 17 * time.Second}, waits: 17 * time.Second},
		"its next sync is much later":  {healthy: 2 * limit, syncs: []time.Duration{2 * limit}, waits: limit, isMissed: true},
		"the first sync is not enough": {healthy: 16 * time.Second, syncs: []time.Duration{time.Second, 16 * time.Second}, waits: 16 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				src := autoscalerSource{state: observe.StateRunning, unlisted: test.unlisted}
				if test.off {
					src.state = observe.StateOff
				}
				for i, at := range test.syncs {
					src.syncs = append(src.syncs, syncOf(uint64(i+1), "shop/web", began.Add(at), 10*time.Millisecond))
				}
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				waited, missed, err := WaitForAutoscalers(ctx, src, func(context.Context) ([]string, error) {
					if time.Since(began) < test.healthy {
						return []string{"shop/web"}, nil
					}
					return nil, nil
				})
				if took := time.Since(began); err != nil || waited != (test.waits > 0) || took < test.waits || took > test.waits+maxPollInterval {
					t.Errorf("waited %v for %v, want %v; error %v", waited, took, test.waits, err)
				}
				if slices.Equal(missed, []string{"shop/web"}) != test.isMissed {
					t.Errorf("missed %q, want %v", missed, test.isMissed)
				}
			})
		})
	}
}
