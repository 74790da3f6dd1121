package nodes

import (
	"context"
	"math/rand/v2"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// maxStageDelay is the longest delay of a stage: kwok computes in nanoseconds, and times after 2262 overflow.
const maxStageDelay = 100 * 365 * 24 * time.Hour

// dueFromAnnotation makes kwok play a stage when the feed says: what is due next, and when, is then known.
var dueFromAnnotation = &internalversion.ExpressionFrom{
	JQ: &internalversion.ExpressionJQ{Expression: `.metadata.annotations["` + annotations.StageDue + `"]`},
}

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

// stageDelay returns the delay of a stage for an object: 0 if its expressions fail, and one drawn at random if it
// has a jitter. lifecycle.Stage.Delay would panic for a jitter that is too far from the delay.
func stageDelay(ctx context.Context, stage *lifecycle.Stage, event *lifecycle.Event, now time.Time) time.Duration {
	bounds, ok, err := stage.DelayRangePossible(ctx, event, now)
	if err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "A stage is played without its delay", "stage", stage.Name())
	}
	if err != nil || !ok {
		return 0
	}
	least, most := boundedDelay(bounds[0]), boundedDelay(bounds[len(bounds)-1])
	if least == most {
		return least
	}
	return least + rand.N(most-least)
}

func boundedDelay(d time.Duration) time.Duration { return min(max(d, 0), maxStageDelay) }
