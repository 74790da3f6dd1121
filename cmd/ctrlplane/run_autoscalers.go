package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// lastLook is how long after its time a run looks whether the control plane is still settled: two checks need less.
const lastLook = 2 * time.Second

// waitForAutoscalers waits, once the control plane has settled, for the next sync of autoscalers that are not healthy, and for
// what that sync sets off. It returns a line for each that was not synced in time.
func (r *runCommand) waitForAutoscalers(ctx context.Context, src observe.Source) (lines []string, err error) {
	waiter, err := health.New(r.up.server.ReaderConfig())
	if err != nil {
		return nil, err
	}
	waited, missed, err := settled.WaitForAutoscalers(ctx, src, func(ctx context.Context) (keys []string, err error) {
		list, err := waiter.List(ctx, "horizontalpodautoscalers.autoscaling")
		for _, item := range list.Items {
			if item.Health != health.Current {
				keys = append(keys, item.Object.Namespace+"/"+item.Object.Name)
			}
		}
		return keys, err
	})
	if err == nil && waited {
		if ctx.Err() != nil { // what has begun meanwhile may not have ended
			var stop context.CancelFunc
			ctx, stop = context.WithTimeoutCause(context.WithoutCancel(ctx), lastLook, context.Cause(ctx))
			defer stop()
		}
		err = r.waitUntilSettled(ctx, src)
	}
	for _, key := range missed {
		lines = append(lines, fmt.Sprintf("settled, but %s has not synced HorizontalPodAutoscaler %s since then: allow more time than its sync period with --timeout", controllernames.HorizontalPodAutoscaler, key))
	}
	return lines, err
}
