package controllers

import (
	"context"
	"errors"
	"slices"

	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/ctrlplane/ctrlplane/internal/parallel"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// errNotStarted is returned while the process starts, waits for the lease or stops.
var errNotStarted = errors.New("the controllers of this process are not running: it is starting or stopping, or another process holds the lease")

// stopUnits stops controllers in parallel for a user, and returns those that were not off. The caller holds the lock.
func (s *Supervisor) stopUnits(list []string) (stopped []string, err error) {
	if s.informers == nil || s.closed {
		return nil, errNotStarted
	}
	for _, name := range list {
		if s.units[name].status().State != Off {
			stopped = append(stopped, name)
		}
	}
	return stopped, parallel.For(len(list), func(i int) error { return s.units[list[i]].turnOff() })
}

// startUnits builds and starts controllers, and returns those that were not running. The caller holds the lock.
func (s *Supervisor) startUnits(list []string) (started []string, err error) {
	if s.informers == nil || s.closed {
		return nil, errNotStarted
	}
	for _, name := range list {
		if !s.units[name].status().State.isRunning() {
			started = append(started, name)
		}
	}
	if len(started) > 0 && s.informers.ctx.Err() != nil { // a restore could not renew them
		if err := s.renewInformers(); err != nil {
			return nil, err
		}
	}
	if slices.Contains(started, names.GarbageCollectorController) { // restarts the other reader of its graph
		defer s.beginSuspension(restarting)()
	}
	var errs []error
	for _, name := range tokenControllerFirst(started) {
		errs = append(errs, s.startUnit(s.informers.ctx, name, observe.Interventions{}))
	}
	return started, errors.Join(errs...)
}

// tokenControllerFirst moves the controller that creates token Secrets to the
// front, as upstream starts it first.
func tokenControllerFirst(list []string) []string {
	list = slices.Clone(list)
	if i := slices.Index(list, names.ServiceAccountTokenController); i > 0 {
		list = slices.Insert(slices.Delete(list, i, i+1), 0, names.ServiceAccountTokenController)
	}
	return list
}

// startUnit builds and starts a controller, with the settings of its gate. It does
// nothing if the controller runs. ctx limits its construction. The caller holds the lock.
func (s *Supervisor) startUnit(ctx context.Context, name string, set observe.Interventions) error {
	u := s.units[name]
	if u.status().State.isRunning() {
		return nil
	}
	if err := s.checkStartable(name); err != nil {
		return err
	}
	if err := u.stop(); err != nil { // removes the handlers of a run that has ended without being stopped
		return err
	}
	if name == names.GarbageCollectorController {
		// The graph of owners ends with the garbage collector that reads it.
		u.setState(Building, "", nil)
		s.buildOwnerGraph()
	}
	if err := s.buildUnit(ctx, name); err != nil {
		return err
	}
	if after := u.status(); after.State == Off {
		return usage.Errorf("controller %s cannot run in this control plane: %s", name, after.Reason)
	}
	s.informers.newView(nil).StartWithContext(s.informers.ctx) // informers that no other controller uses
	u.currentGate().Apply(set)                                 // only now: constructors may write
	u.start()
	if name == names.GarbageCollectorController {
		return s.restartGraphReader(ctx)
	}
	return nil
}

// checkStartable refuses an extra controller that the configuration turns off.
func (s *Supervisor) checkStartable(name string) error {
	for _, e := range s.cfg.Extra {
		if e.Name == name && e.OffReason != "" {
			return usage.Errorf("controller %s cannot be started: %s", name, e.OffReason)
		}
	}
	return nil
}

// restartGraphReader restarts the other controller that reads the graph of
// owners, as it was built with the previous one, or starts it if there was none.
func (s *Supervisor) restartGraphReader(ctx context.Context) error {
	u := s.units[names.StorageVersionMigratorController]
	if u == nil {
		return nil
	}
	if was := u.status(); !was.State.isRunning() && was.Reason != needsCollector {
		return nil
	}
	kept := u.currentGate().Interventions()
	if err := u.stop(); err != nil {
		return err
	}
	return s.startUnit(ctx, u.name, kept)
}
