package settled

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	interval = 25 * time.Millisecond  // between two looks
	again    = 10 * time.Millisecond  // after one that found nothing
	looks    = 2                      // in a row that must find nothing
	news     = 500 * time.Millisecond // between two words on the progress
)

// Source gives snapshots of a control plane.
type Source interface {
	Snapshot(context.Context) (observe.Snapshot, error)
}

// BusyError says what is left to do in a control plane that was to settle.
type BusyError struct {
	Work  []Work
	Cause error // why the wait ended
}

// Error names who is busy.
func (e *BusyError) Error() string {
	names := make([]string, len(e.Work))
	for i, w := range e.Work {
		names[i] = w.Where
	}
	return fmt.Sprintf("not settled: %s: %v", few(names), e.Cause)
}

// Unwrap returns why the wait ended.
func (e *BusyError) Unwrap() error { return e.Cause }

// Wait returns when two looks in a row find nothing left to do. If ctx reaches
// its deadline first the error is a [*BusyError]. progress, if not nil, is told
// twice a second at most what is left, when others than before are busy.
func Wait(ctx context.Context, src Source, horizon time.Duration, progress func([]Work)) error {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	var work []Work
	told, last := "", time.Now()
	for nothing := 0; ; {
		s, err := src.Snapshot(ctx)
		switch {
		case ctx.Err() != nil:
			return ended(ctx, work)
		case err != nil:
			return err
		}
		nothing++
		timer.Reset(again)
		if work = Left(s, horizon); len(work) > 0 {
			nothing = 0
			timer.Reset(interval)
		}
		if nothing == looks {
			return nil
		}
		if who := who(work); progress != nil && who != told && time.Since(last) >= news {
			told, last = who, time.Now()
			progress(work)
		}
		select {
		case <-ctx.Done():
			return ended(ctx, work)
		case <-timer.C:
		}
	}
}

// who names the places where work is left.
func who(work []Work) string {
	var names []string
	for _, w := range work {
		names = append(names, w.Where)
	}
	return strings.Join(names, ", ")
}

func ended(ctx context.Context, work []Work) error {
	cause := context.Cause(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		return cause
	}
	if len(work) == 0 {
		work = []Work{{"control plane", []string{"it has not answered often enough"}}}
	}
	return &BusyError{Work: work, Cause: cause}
}
