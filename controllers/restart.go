package controllers

import (
	"errors"
	"slices"
	"sync"

	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// errNotStarted is for a process that starts, waits for the lease, or ends.
var errNotStarted = errors.New("the controllers of this process do not run: it is starting or stopping, or another one holds the lease")

// stopUnits ends controllers, all at once.
func (s *Supervisor) stopUnits(list []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.informers == nil || s.closed {
		return errNotStarted
	}
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, name := range list {
		wg.Go(func() { errs[i] = s.units[name].stop() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// startUnits builds and runs controllers that do not run.
func (s *Supervisor) startUnits(list []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.informers == nil || s.closed {
		return errNotStarted
	}
	var errs []error
	for _, name := range tokenControllerFirst(list) {
		errs = append(errs, s.startUnit(name, Intervention{}))
	}
	return errors.Join(errs...)
}

// tokenControllerFirst has the controller before the others that makes tokens, as
// upstream has it.
func tokenControllerFirst(list []string) []string {
	list = slices.Clone(list)
	if i := slices.Index(list, names.ServiceAccountTokenController); i > 0 {
		list = slices.Insert(slices.Delete(list, i, i+1), 0, names.ServiceAccountTokenController)
	}
	return list
}

// startUnit builds and runs a controller, with a hand on its gate. It needs the
// lock. Constructors may write, so the hand comes after them.
func (s *Supervisor) startUnit(name string, on Intervention) error {
	u := s.units[name]
	if state := u.status().State; state == Running || state == Paused {
		return nil
	}
	if err := s.checkStartable(name); err != nil {
		return err
	}
	if err := u.stop(); err != nil { // what has ended by itself has left its handlers
		return err
	}
	if name == names.GarbageCollectorController {
		// The graph of owners ends with the garbage collector that reads it.
		u.setState(Building, "", nil)
		s.buildOwnerGraph()
	}
	if err := s.buildUnit(name); err != nil {
		return err
	}
	if after := u.status(); after.State == Off {
		return usage.Errorf("controller %s does not run here: %s", name, after.Reason)
	}
	s.informers.newFacade(nil).StartWithContext(s.informers.ctx) // informers that nobody has used so far
	u.currentGate().Apply(on)
	u.start()
	if name == names.GarbageCollectorController {
		return s.restartGraphReader()
	}
	return nil
}

// checkStartable refuses an extra controller that is turned off for good.
func (s *Supervisor) checkStartable(name string) error {
	for _, e := range s.cfg.Extra {
		if e.Name == name && e.OffReason != "" {
			return usage.Errorf("controller %s cannot be started: %s", name, e.OffReason)
		}
	}
	return nil
}

// restartGraphReader starts anew who else reads the graph of owners: it was built with
// the one before.
func (s *Supervisor) restartGraphReader() error {
	u := s.units[names.StorageVersionMigratorController]
	if u == nil {
		return nil
	}
	if state := u.status().State; state != Running && state != Paused {
		return nil
	}
	kept := u.currentGate().Intervention()
	if err := u.stop(); err != nil {
		return err
	}
	return s.startUnit(u.name, kept)
}
