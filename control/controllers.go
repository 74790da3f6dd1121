package control

import (
	"context"
	"slices"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Controller is one controller as the process sees it.
type Controller struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	// State is off, building, running, paused, stopping or failed.
	State string `json:"state"`
	// Reason says why it is off or has failed, or which hand is on it.
	Reason string `json:"reason,omitempty"`

	// Workers is how many workers each of its queues has, where that is known.
	Workers map[string]int `json:"workers,omitempty"`
	// Held is how many of its writes wait for a step or a resume.
	Held int `json:"held,omitempty"`
	Work
}

// Work is what a controller has to do and has done; its queues' numbers bear
// the names of the workqueue_* metrics.
type Work struct {
	Depth     int64 `json:"depth"`    // keys that wait, but for parked ones
	InFlight  int64 `json:"inFlight"` // keys that are worked on
	Retries   int64 `json:"retries"`
	Syncs     int64 `json:"syncs"`
	Failures  int64 `json:"failures"` // syncs that failed
	Writes    int64 `json:"writes"`   // calls
	Errors    int64 `json:"errors"`   // calls that failed, without conflicts
	Conflicts int64 `json:"conflicts"`
}

// ControllerList is what ControllersPath answers with.
type ControllerList struct {
	Items []Controller `json:"items"`
}

// listControllers are those of the plane with what is known of their work.
func (p Services) listControllers(ctx context.Context) ([]Controller, error) {
	list := slices.Clone(p.Controllers())
	if p.Source == nil {
		return list, nil
	}
	s, err := p.Source.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	work, workers := sumWork(s)
	for i := range list {
		c := &list[i]
		c.Work, c.Workers = work[c.Name], workers[c.Name]
		if p.Interventions != nil && c.State == "paused" {
			held, err := p.Interventions.HeldWrites(ctx, c.Name, 0)
			if err != nil {
				return nil, err
			}
			c.Held = held.Total
		}
	}
	return list, nil
}

// sumWork sums up a snapshot by controller.
func sumWork(s observe.Snapshot) (all map[string]Work, workers map[string]map[string]int) {
	all, workers = map[string]Work{}, map[string]map[string]int{}
	for _, c := range s.Controllers {
		all[c.Name] = Work{Syncs: c.Syncs, Failures: c.Failures, Writes: c.Changes, Errors: c.Errors, Conflicts: c.Conflicts}
	}
	for _, q := range s.Queues {
		w := all[q.Controller]
		if !q.Parked {
			w.Depth += q.Depth
		}
		w.InFlight, w.Retries = w.InFlight+q.InFlight, w.Retries+q.Retries
		all[q.Controller] = w
		if q.Workers > 0 {
			if workers[q.Controller] == nil {
				workers[q.Controller] = map[string]int{}
			}
			workers[q.Controller][q.Name] = q.Workers
		}
	}
	return all, workers
}
