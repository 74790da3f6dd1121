package rest

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

// endedInterventions are the controllers and clients in which interventions were ended.
type endedInterventions struct {
	Controllers []string `json:"controllers"`
	Clients     []string `json:"clients"`
}

// endInterventions ends all interventions and slowness: it starts, clears and resumes all controllers, sets their configured
// numbers of workers, clears and resumes all clients, and sets the full speed. It does all that it can.
func (s Services) endInterventions(ctx context.Context) (ended endedInterventions, err error) {
	// Faults and delays end first, so that released writes do not meet them.
	controllers, changed := changeAll(ctx, s.Interventions, control.Start, control.Clear, control.Resume)
	now, err := s.Source.Snapshot(ctx) // has the numbers of workers of those that were stopped, too
	errs := []error{changed, err}
	for name, workers := range s.configuredWorkers(now) {
		scaled, err := s.Interventions.Change(ctx, []string{name}, control.Change{Verb: control.Scale, Workers: workers})
		controllers, errs = append(controllers, scaled...), append(errs, err)
	}
	clients, err := changeAll(ctx, s.Clients, control.Clear, control.Resume)
	errs = append(errs, err)
	if speed := now.Process.Speed; s.Speed != nil && speed != "" && speed != observe.SpeedFull {
		errs = append(errs, s.Speed.SetSpeed(ctx, observe.SpeedFull))
	}
	return endedInterventions{sortedNames(controllers), sortedNames(clients)}, errors.Join(errs...)
}

// changeAll makes changes of all controllers or clients, if there is what makes them, and returns those that were changed.
func changeAll(ctx context.Context, i control.Intervener, verbs ...string) (changed []string, err error) {
	if i == nil {
		return nil, nil
	}
	var errs []error
	for _, verb := range verbs {
		names, err := i.Change(ctx, []string{control.All}, control.Change{Verb: verb})
		changed, errs = append(changed, names...), append(errs, err)
	}
	return changed, errors.Join(errs...)
}

// configuredWorkers returns the configured number of workers of each controller that has another one.
func (s Services) configuredWorkers(now observe.Snapshot) map[string]int {
	workers := map[string]int{}
	note := func(name string, set observe.Interventions) {
		if set.Workers > 0 {
			workers[name] = set.ConfiguredWorkers
		}
	}
	for _, c := range now.Controllers {
		note(c.Name, c.Interventions)
	}
	if s.Controllers != nil { // also if nothing is observed
		for _, c := range s.Controllers() {
			note(c.Name, c.Interventions)
		}
	}
	return workers
}

func sortedNames(names []string) []string {
	return orEmpty(slices.Compact(slices.Sorted(slices.Values(names))))
}

// EndInterventions ends all interventions in controllers and clients, sets the configured numbers of workers and the full speed.
func (c *Client) EndInterventions(ctx context.Context) error {
	return c.do(ctx, http.MethodDelete, InterventionsPath, nil, nil, &endedInterventions{})
}
