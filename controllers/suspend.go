package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ctrlplane/ctrlplane/internal/informersync"
)

// suspended is how a controller was that is to go on.
type suspended struct {
	hand  hand
	state State
}

// Suspend ends all controllers that run, and with them what they remember of
// the objects. None can be started or stopped until resume, which has to be
// called: it builds and runs them again, with the hands that were on them. The
// informers go on meanwhile, unless resume is told to make them anew: those of
// kinds that were gone for a moment would wait for up to half a minute before
// they look again.
func (s *Supervisor) Suspend() (resume func(anew bool) error, err error) {
	s.mu.Lock()
	if s.shared == nil || s.closed {
		defer s.mu.Unlock()
		return nil, errNotStarted
	}
	ran := map[string]suspended{}
	for name, u := range s.units {
		if state := u.status().State; state == Running || state == Paused {
			ran[name] = suspended{u.currentGate().hand(), state}
			u.hush()
		}
	}
	resume = func(anew bool) error {
		defer s.mu.Unlock()
		if anew {
			if err := s.renew(); err != nil {
				return err
			}
		}
		return s.startAgain(ran)
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

// renew makes the informers anew, which nobody reads now. It needs the lock.
func (s *Supervisor) renew() (err error) {
	s.shared.close()
	if s.shared, err = newShared(s.cfg.Connect, s.resyncPeriod(), s.cfg.recorder(informersName)); err != nil {
		return err
	}
	s.shared.start()
	return nil
}

// startAgain needs the lock.
func (s *Supervisor) startAgain(ran map[string]suspended) error {
	s.shared.mapper.Reset() // kinds may have come and gone
	var list []string
	for name := range ran {
		list = append(list, name)
	}
	slices.Sort(list)
	var errs []error
	for _, name := range tokensFirst(list) {
		errs = append(errs, s.startUnit(name, ran[name].hand))
		s.units[name].speak(ran[name].state)
	}
	return errors.Join(errs...)
}

// WaitCaughtUp returns when the informers have seen what was written.
func (s *Supervisor) WaitCaughtUp(ctx context.Context, written informersync.Revisions) error {
	err := informersync.Typed(ctx, s.shared.typed, written)
	if err == nil {
		err = informersync.Metadata(ctx, s.shared.metadata, written)
	}
	if err != nil {
		return fmt.Errorf("controllers: %w", err)
	}
	return nil
}

// hush keeps to itself that the controller ends and begins anew.
func (u *unit) hush() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.quiet = true
}

// speak tells the state again, and at once if it is not what it was.
func (u *unit) speak(was State) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.quiet = false
	if state, _ := u.shown(); state != was {
		u.tell()
	}
}
