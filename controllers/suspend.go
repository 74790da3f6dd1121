package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ctrlplane/ctrlplane/internal/informersync"
)

// suspendedUnit is how a controller was that is to go on.
type suspendedUnit struct {
	intervention Intervention
	state        State
}

// Suspend ends all controllers that run, and with them what they remember of
// the objects. None can be started or stopped until resume, which has to be
// called: it builds and runs them again, with the hands that were on them. The
// informers go on meanwhile, unless resume is told to make them anew: those of
// kinds that were gone for a moment would wait for up to half a minute before
// they look again.
func (s *Supervisor) Suspend() (resume func(anew bool) error, err error) {
	s.mu.Lock()
	if s.informers == nil || s.closed {
		defer s.mu.Unlock()
		return nil, errNotStarted
	}
	ran := map[string]suspendedUnit{}
	for name, u := range s.units {
		if state := u.status().State; state == Running || state == Paused {
			ran[name] = suspendedUnit{u.currentGate().Intervention(), state}
			u.muteEvents()
		}
	}
	resume = func(anew bool) error {
		defer s.mu.Unlock()
		if anew {
			if err := s.renewInformers(); err != nil {
				return err
			}
		}
		return s.restartSuspended(ran)
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
		return nil, errors.Join(err, resume(false))
	}
	return resume, nil
}

// renewInformers makes the informers anew, which nobody reads now. It needs the lock.
func (s *Supervisor) renewInformers() (err error) {
	s.informers.close()
	if s.informers, err = newSharedInformers(s.cfg.Connect, s.resyncPeriod(), s.cfg.recorderFor(sharedInformersName)); err != nil {
		return err
	}
	s.informers.start()
	return nil
}

// restartSuspended needs the lock.
func (s *Supervisor) restartSuspended(ran map[string]suspendedUnit) error {
	s.informers.mapper.Reset() // kinds may have come and gone
	var list []string
	for name := range ran {
		list = append(list, name)
	}
	slices.Sort(list)
	var errs []error
	for _, name := range tokenControllerFirst(list) {
		errs = append(errs, s.startUnit(name, ran[name].intervention))
		s.units[name].unmuteEvents(ran[name].state)
	}
	return errors.Join(errs...)
}

// WaitInformersSynced returns when the informers have seen what was written.
func (s *Supervisor) WaitInformersSynced(ctx context.Context, written informersync.Revisions) error {
	err := informersync.WaitTyped(ctx, s.informers.typed, written)
	if err == nil {
		err = informersync.WaitMetadata(ctx, s.informers.metadata, written)
	}
	if err != nil {
		return fmt.Errorf("controllers: %w", err)
	}
	return nil
}

// muteEvents keeps to itself that the controller ends and begins anew.
func (u *unit) muteEvents() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.muted = true
}

// unmuteEvents tells the state again, and at once if it is not what it was.
func (u *unit) unmuteEvents(was State) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.muted = false
	if state, _ := u.displayState(); state != was {
		u.publishState()
	}
}
