package nodes

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/kwok/pkg/utils/queue"
)

// A synctest bubble fails if a goroutine outlives it.
func TestKwokQueueEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		clock := newCancelableClock(ctx)
		q := queue.NewWeightDelayingQueue[string](clock)
		q.AddAfter("a", time.Hour)
		q.AddAfter("b", time.Minute)
		for _, want := range []string{"b", "a"} {
			time.Sleep(time.Hour)
			if got, ok := q.Get(); got != want || !ok {
				t.Errorf("got %q, %v, want %q", got, ok, want)
			}
		}
		cancelled := time.Now()
		cancel()
		<-clock.ended
		if took := time.Since(cancelled); took != 0 {
			t.Errorf("the queue ended after %v", took)
		}
	})
}
