package settled

import (
	"context"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// usableAfter is how long after a Pod is ready a sync uses its metrics at the latest: their window, and what whole seconds hide.
const usableAfter = 2 * time.Second

// UnhealthyAutoscalers returns the keys of the HorizontalPodAutoscalers that are not healthy.
type UnhealthyAutoscalers func(context.Context) ([]string, error)

// WaitForAutoscalers waits, in a control plane that has just settled, until each HorizontalPodAutoscaler that is not healthy has
// become so or was synced with the metrics of Pods that were ready then: the sync before that says nothing, as its controller syncs
// one when it is created, which is before its Pods run, and then only every 15 s. It reports whether
// it has waited, after which there may be work again, and the keys that were not synced when ctx ended.
func WaitForAutoscalers(ctx context.Context, src observe.Source, unhealthy UnhealthyAutoscalers) (waited bool, missed []string, err error) {
	from := time.Now().Add(usableAfter)
	if runs, err := runsAutoscalers(ctx, src); err != nil || !runs {
		return false, nil, err
	}
	query := observe.Query{Kinds: []observe.Kind{observe.KindSynced}, Controller: controllernames.HorizontalPodAutoscaler, Limit: 1}
	page, err := src.Records(ctx, query)
	if err != nil {
		return false, nil, err
	}
	query.Limit = 0
	synced := map[string]bool{}
	ticker := time.NewTicker(maxPollInterval)
	defer ticker.Stop()
	for look := true; ; {
		if look {
			left, err := unhealthy(ctx)
			switch {
			case ctx.Err() != nil:
				return waited, missed, nil
			case err != nil:
				return waited, nil, err
			}
			missed = slices.DeleteFunc(left, func(key string) bool { return synced[key] })
		}
		if len(missed) == 0 {
			return waited, nil, nil
		}
		waited = true
		select {
		case <-ctx.Done():
			return waited, missed, nil
		case <-ticker.C:
		}
		query.After = page.Next
		switch page, err = src.Records(ctx, query); {
		case ctx.Err() != nil:
			return waited, missed, nil
		case err != nil:
			return waited, nil, err
		}
		for _, r := range page.Records {
			if s, ok := r.Event.(*observe.Synced); ok && r.Time.Add(-s.Took).After(from) {
				synced[s.Key] = true
			}
		}
		look = len(page.Records) > 0
	}
}

// runsAutoscalers reports whether the controller of HorizontalPodAutoscalers runs, and does not wait for its kinds, which may be off.
func runsAutoscalers(ctx context.Context, src Source) (bool, error) {
	s, err := src.Snapshot(ctx)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(s.Controllers, func(c observe.Controller) bool {
		return c.Name == controllernames.HorizontalPodAutoscaler && c.State == observe.StateRunning && c.Unlisted == ""
	}), nil
}
