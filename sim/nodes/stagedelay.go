package nodes

import (
	"context"
	"math/rand/v2"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// maxStageDelay is the longest delay of a stage: kwok computes in nanoseconds, and times after 2262 overflow.
const maxStageDelay = 100 * 365 * 24 * time.Hour

// boundDelay returns a delay with bounded constants: kwok multiplies them by a million.
func boundDelay(delay *internalversion.StageDelay) *internalversion.StageDelay {
	delay = delay.DeepCopy()
	for _, ms := range []*int64{delay.DurationMilliseconds, delay.JitterDurationMilliseconds} {
		if ms != nil {
			*ms = min(*ms, maxStageDelay.Milliseconds())
		}
	}
	return delay
}

// stageDelay is the range of the delay of a stage for an object, as it is at a time.
type stageDelay struct {
	from        time.Time
	least, most time.Duration
}

// newStageDelay evaluates the delay of a stage. It is 0 if that fails.
func newStageDelay(ctx context.Context, stage *lifecycle.Stage, event *lifecycle.Event, now time.Time) stageDelay {
	d := stageDelay{from: now.Round(0)} // expressions may yield points in time
	bounds, ok, err := stage.DelayRangePossible(ctx, event, now)
	if err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "A stage is played without its delay", "stage", stage.Name())
	}
	if err == nil && ok {
		d.least, d.most = boundedDelay(bounds[0]), boundedDelay(bounds[len(bounds)-1])
	}
	return d
}

func boundedDelay(d time.Duration) time.Duration { return min(max(d, 0), maxStageDelay) }

// draw returns when the delay ends. lifecycle.Stage.Delay would panic for a jitter that is too far from the delay.
func (d stageDelay) draw() time.Time {
	delay := d.least
	if d.least < d.most {
		delay += rand.N(d.most - d.least)
	}
	return d.from.Add(delay)
}

// isSame reports whether a later evaluation has yielded the same durations or points in time.
func (d stageDelay) isSame(later stageDelay) bool {
	passed := later.from.Sub(d.from)
	same := func(was, is time.Duration) bool { return was == is || was == is+passed }
	return same(d.least, later.least) && same(d.most, later.most)
}
