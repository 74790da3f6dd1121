package nodes

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/kwok/pkg/utils/queue"
)

// A synctest bubble fails if a goroutine of its own outlives it.
func TestKwokQueueEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		q := queue.NewWeightDelayingQueue[string](cancelableClock{ctx: ctx})
		q.AddAfter("a", time.Hour)
		time.Sleep(2 * time.Hour)
		if got, ok := q.Get(); got != "a" || !ok {
			t.Errorf("got %q, %v", got, ok)
		}
		cancel()
		time.Sleep(10 * time.Second)
	})
}
