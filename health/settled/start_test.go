package settled

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

func startingSnapshot(depth int64) observe.Snapshot {
	s := snapshotWithDepth(depth)
	if depth == 0 {
		s = quietSnapshot(nil)
	}
	s.Process.State = observe.Starting
	return s
}

func TestStartSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &fakeSource{answers: []any{startingSnapshot(2), startingSnapshot(0)}}
		if err := WaitForStart(t.Context(), src, time.Second); err != nil || src.n != 1+requiredChecks {
			t.Errorf("got %v after %d checks", err, src.n)
		}
	})
}

func TestStartDoesNotSettleInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := WaitForStart(t.Context(), &fakeSource{answers: []any{startingSnapshot(1)}}, time.Minute)
		if _, busy := errors.AsType[*BusyError](err); !busy || err.Error() != "not settled: job-controller: timed out after 1m0s" || time.Since(began) != time.Minute {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

// A start that is interrupted, or that has a deadline of its own, ends the wait at once.
func TestStartIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		enough := errors.New("enough")
		canceled, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(enough) })
		late, stop := context.WithTimeoutCause(t.Context(), time.Second, enough)
		defer stop()
		for name, ctx := range map[string]context.Context{"canceled": canceled, "deadline": late} {
			err := WaitForStart(ctx, &fakeSource{answers: []any{startingSnapshot(1)}}, time.Minute)
			if _, busy := errors.AsType[*BusyError](err); busy || !errors.Is(err, enough) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}
