package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/ctrlplane/ctrlplane/internal/informersync"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Suspend stops all running controllers, which discards what they remember of
// objects. Controllers cannot be started or stopped until the caller calls resume,
// which builds and starts them again, with their interventions. The informers keep
// running unless recreateInformers is set: an informer of a kind that was
// temporarily not served waits up to half a minute before it retries. When the context of
// resume ends, no other controller is started.
func (s *Supervisor) Suspend() (resume func(ctx context.Context, recreateInformers bool) error, err error) {
	s.mu.Lock()
	if s.informers == nil || s.closed {
		defer s.mu.Unlock()
		return nil, errNotStarted
	}
	end := s.beginSuspension(restoring)
	ran := map[string]observe.Interventions{}
	for name, u := range s.units {
		if state := u.status().State; state.isRunning() {
			u.muteEvents(state)
			ran[name] = u.currentGate().Interventions()
		}
	}
	resume = func(ctx context.Context, recreateInformers bool) error {
		defer s.mu.Unlock()
		defer end()
		defer func() { // also those that are not started again
			for name := range ran {
				s.units[name].unmuteEvents()
			}
		}()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if recreateInformers {
			if err := s.renewInformers(); err != nil {
				return err
			}
		}
		return s.restartSuspended(ctx, ran)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for name := range ran {
		wg.Go(func() {
			if stopErr := s.units[name].stop(); stopErr != nil {
				mu.Lock()
				defer mu.Unlock()
				err = errors.Join(err, stopErr)
			}
		})
	}
	wg.Wait()
	if err != nil {
		return nil, errors.Join(err, resume(context.Background(), false))
	}
	return resume, nil
}

// renewInformers recreates the informers. If that fails, those of before have ended: see startUnits. The
// caller holds the lock, and no controller runs.
func (s *Supervisor) renewInformers() error {
	if err := s.informers.close(); err != nil {
		return err
	}
	renewed, err := s.newInformers()
	if err != nil {
		return err // without those of before, Close could not end
	}
	// Until the garbage collector is built again: the other controller that reads the graph ends
	// the process without one.
	renewed.graph, renewed.graphView = s.informers.graph, s.informers.graphView
	s.informers = renewed
	if err := renewed.handleNodes(s.cfg.OnNode); err != nil {
		return errors.Join(err, renewed.close())
	}
	renewed.start()
	s.countJobs()
	return nil
}

// restartSuspended requires the lock.
func (s *Supervisor) restartSuspended(ctx context.Context, ran map[string]observe.Interventions) error {
	s.informers.mapper.Reset() // the restored state may have other kinds
	var errs []error
	for _, name := range tokenControllerFirst(slices.Sorted(maps.Keys(ran))) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		errs = append(errs, s.startUnit(ctx, name, ran[name]))
		s.units[name].unmuteEvents()
	}
	return errors.Join(errs...)
}

// WaitInformersSynced returns when the informers have received what was written.
func (s *Supervisor) WaitInformersSynced(ctx context.Context, written informersync.Revisions) error {
	err := informersync.WaitTyped(ctx, s.informers.typed, written, informersync.StallTimeout)
	if err == nil {
		err = informersync.WaitMetadata(ctx, s.informers.metadata, written, informersync.StallTimeout)
	}
	if err != nil {
		return fmt.Errorf("controllers: %w", err)
	}
	return nil
}

// muteEvents stops the recording of state changes, while the controller restarts. state is the current one.
func (u *unit) muteEvents(state State) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mutedIn = state
}

// unmuteEvents records state changes again, and the current state if it is not
// the previous one. It does nothing if they are not muted.
func (u *unit) unmuteEvents() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.mutedIn == "" {
		return
	}
	previous := u.mutedIn
	u.mutedIn = ""
	if State(u.displayState().State) != previous {
		u.publishState()
	}
}
