package controllers

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/observe"
)

// restoredUnit is a running controller that is suspended as a restore does it.
type restoredUnit struct {
	supervisor *Supervisor
	unit       *unit
	kept       observe.Interventions
	end        func()   // of the suspension
	restarted  *unitRun // after the restore; may be nil
}

func newRestoredUnit(t *testing.T) *restoredUnit {
	s := newSupervisor(t)
	r := &restoredUnit{supervisor: s, unit: s.units["job-controller"]}
	r.unit.replaceGate(intervene.ObjectReader{}, nil)
	r.unit.setState(Running, "", nil)
	return r
}

// suspend stops the controller.
func (r *restoredUnit) suspend() {
	r.end = r.supervisor.beginSuspension(restoring)
	r.unit.muteEvents(r.unit.status().State)
	r.kept = r.unit.currentGate().Interventions()
	r.unit.closeGate()
	r.unit.setState(Off, stoppedReason, nil)
}

// resume starts it again with its interventions.
func (r *restoredUnit) resume() {
	r.unit.replaceGate(intervene.ObjectReader{}, nil).Apply(r.kept)
	r.unit.setState(Running, "", r.restarted)
	r.unit.unmuteEvents()
	r.end()
}

// Interventions wait while a snapshot is restored, and have their effect on the controller that runs afterwards.
func TestInterventionsWaitForTheEndOfARestore(t *testing.T) {
	job := []string{"job-controller"}
	fault := control.Fault{Rate: 1, Code: "500"}
	for name, tc := range map[string]struct {
		paused, failing bool // before the restore
		do              func(context.Context, control.Interventions) ([]string, error)
		state           State
		reason          string
	}{
		"resume": {true, false, func(ctx context.Context, i control.Interventions) ([]string, error) { return i.Resume(ctx, job) }, Running, ""},
		"clear":  {true, true, func(ctx context.Context, i control.Interventions) ([]string, error) { return i.Clear(ctx, job) }, Paused, "its writes are held"},
		"pause all": {false, false, func(ctx context.Context, i control.Interventions) ([]string, error) {
			return i.Pause(ctx, []string{control.All})
		}, Paused, "its writes are held"},
		"delay": {false, false, func(ctx context.Context, i control.Interventions) ([]string, error) {
			return i.Delay(ctx, job, time.Second)
		}, Running, "each call waits 1s"},
		"fail": {false, false, func(ctx context.Context, i control.Interventions) ([]string, error) { return i.Fail(ctx, job, fault) }, Running, "100% of its calls fail: 500"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRestoredUnit(t)
				i := r.supervisor.Interventions()
				if tc.paused {
					mustIntervene(t)(i.Pause(t.Context(), job))
				}
				if tc.failing {
					mustIntervene(t)(i.Fail(t.Context(), job, fault))
				}
				r.suspend()
				short, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := tc.do(short, i); err == nil || !strings.Contains(err.Error(), "a snapshot is being restored") {
					t.Errorf("during the restore: %v", err)
				}
				var changed []string
				var wg sync.WaitGroup
				wg.Go(func() { changed = mustIntervene(t)(tc.do(t.Context(), i)) })
				synctest.Wait()
				r.resume()
				wg.Wait()
				if diff := cmp.Diff(job, changed); diff != "" {
					t.Errorf("changed: %s", diff)
				}
				if got := r.unit.status(); got.State != tc.state || got.Reason != tc.reason {
					t.Errorf("after the restore: %+v", got)
				}
			})
		})
	}
}

// What changes which controllers run waits while a snapshot is restored, or another one starts or stops
// controllers, and does nothing for a client that has gone meanwhile.
func TestChangesOfAClientThatHasGone(t *testing.T) {
	job := []string{"job-controller"}
	for name, change := range map[string]func(context.Context, control.Interventions) ([]string, error){
		"start": func(ctx context.Context, i control.Interventions) ([]string, error) { return i.Start(ctx, job) },
		"stop":  func(ctx context.Context, i control.Interventions) ([]string, error) { return i.Stop(ctx, job) },
		"scale": func(ctx context.Context, i control.Interventions) ([]string, error) { return i.Scale(ctx, job, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRestoredUnit(t)
			r.supervisor.informers = &sharedInformers{}
			r.unit.setState(Failed, "as before", nil) // each of them would change that, or refuse to
			ctx, leave := context.WithCancel(t.Context())
			changed := make(chan error, 1)
			begin := func() {
				_, err := change(ctx, r.supervisor.Interventions())
				changed <- err
			}
			end := r.supervisor.beginSuspension(restoring)
			go begin()
			leave()
			if err := <-changed; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "a snapshot is being restored") {
				t.Errorf("during a restore: %v", err)
			}
			end()
			begin()
			if err := <-changed; !errors.Is(err, context.Canceled) {
				t.Errorf("after a wait for the lock: %v", err)
			}
			if got := r.unit.status(); got.State != Failed || got.Reason != "as before" {
				t.Errorf("it has changed: %+v", got)
			}
		})
	}
}

// All controllers are off during a restore: which of them run is known at its end.
func TestStopAllWaitsForTheEndOfARestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRestoredUnit(t)
		r.supervisor.informers = &sharedInformers{}
		r.restarted = &unitRun{view: &informerView{}, cancel: func() {}, done: make(chan struct{})}
		close(r.restarted.done)
		i, all := r.supervisor.Interventions(), []string{control.All}
		r.suspend()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := i.Stop(short, all); err == nil || !strings.Contains(err.Error(), "a snapshot is being restored") {
			t.Errorf("during the restore: %v", err)
		}
		var stopped []string
		var wg sync.WaitGroup
		wg.Go(func() { stopped = mustIntervene(t)(i.Stop(t.Context(), all)) })
		synctest.Wait()
		r.resume()
		wg.Wait()
		if diff := cmp.Diff([]string{"job-controller"}, stopped); diff != "" {
			t.Errorf("stopped: %s", diff)
		}
		if got := r.unit.status(); got.State != Off || got.Reason != stoppedReason {
			t.Errorf("after the restore: %+v", got)
		}
	})
}

// A change that a restore overtakes is made again.
func TestInterventionOvertakenByARestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRestoredUnit(t)
		mustIntervene(t)(r.supervisor.Interventions().Pause(t.Context(), []string{"job"}))
		calls := 0
		changed, err := interventions{r.supervisor}.changeGates(t.Context(), []string{"job"}, true, func(g *intervene.Gate) (bool, error) {
			if calls++; calls == 1 {
				r.suspend() // it keeps the pause
				r.resume()
			}
			return g.Resume(), nil
		})
		if diff := cmp.Diff([]string{"job-controller"}, changed); err != nil || diff != "" {
			t.Errorf("%v, %s", err, diff)
		}
		if got := r.unit.status(); got.State != Running {
			t.Errorf("after the restore: %+v", got)
		}
	})
}

// So is one that a restart overtakes: of the controller, or of another one that it needs.
func TestInterventionOvertakenByARestart(t *testing.T) {
	const collector, migrator = names.GarbageCollectorController, names.StorageVersionMigratorController
	s := newPreparedSupervisor(t, migrator, collector)
	i := s.Interventions()
	scale := func(t *testing.T, workers int) { mustIntervene(t)(i.Scale(t.Context(), []string{collector}, workers)) }
	stop := func(t *testing.T) { mustIntervene(t)(i.Stop(t.Context(), []string{collector})) }
	start := func(t *testing.T) { mustIntervene(t)(i.Start(t.Context(), []string{collector})) }
	mustIntervene(t)(i.Start(t.Context(), []string{collector, migrator}))
	fault := control.Fault{Rate: 1, Code: "500"}
	for overtaken, c := range map[string]struct {
		controller       string
		prepare, restart func(*testing.T)
	}{
		"scaled":                      {collector, func(*testing.T) {}, func(t *testing.T) { scale(t, 7) }},
		"its graph's owner is scaled": {migrator, func(*testing.T) {}, func(t *testing.T) { scale(t, 8) }},
		"its graph's owner starts":    {migrator, stop, start},
	} {
		for name, change := range map[string]struct {
			before, make control.Change
			want         string
		}{
			"pause":  {control.Change{}, control.Change{Verb: control.Pause}, "its writes are held"},
			"delay":  {control.Change{}, control.Change{Verb: control.Delay, Delay: time.Hour}, "each call waits 1h0m0s"},
			"fail":   {control.Change{}, control.Change{Verb: control.Fail, Fault: fault}, "100% of its calls fail: 500"},
			"resume": {control.Change{Verb: control.Pause}, control.Change{Verb: control.Resume}, ""},
			"clear":  {control.Change{Verb: control.Fail, Fault: fault}, control.Change{Verb: control.Clear}, ""},
		} {
			t.Run(name+", "+overtaken, func(t *testing.T) {
				c.prepare(t)
				list, calls := []string{c.controller}, 0
				if change.before.Verb != "" {
					mustIntervene(t)(i.Change(t.Context(), list, change.before))
				}
				changed := mustIntervene(t)(interventions{s}.changeGates(t.Context(), list, change.make.IsUndo(), func(g *intervene.Gate) (bool, error) {
					if calls++; calls == 1 {
						c.restart(t)
					}
					return g.Change(t.Context(), change.make)
				}))
				if diff := cmp.Diff(list, changed); diff != "" {
					t.Errorf("changed: %s", diff)
				}
				if got := s.units[c.controller].currentGate().Interventions().String(); got != change.want {
					t.Errorf("after the restart: %q, want %q", got, change.want)
				}
				s.units[c.controller].currentGate().Apply(observe.Interventions{})
			})
		}
	}
}

// A step waits during a restore, and a paused controller is said to be paused.
func TestStepDuringARestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRestoredUnit(t)
		i := r.supervisor.Interventions()
		mustIntervene(t)(i.Pause(t.Context(), []string{"job"}))
		stepped := make(chan *control.SteppedWrite)
		step := func() {
			s, err := i.Step(t.Context(), "job")
			if err != nil {
				t.Error(err)
			}
			stepped <- s
		}
		go step()
		synctest.Wait() // it waits for a write
		r.suspend()
		if list, err := i.HeldWrites(t.Context(), "job", 1); err != nil || !list.Paused || list.Total != 0 {
			t.Errorf("held: %+v, %v", list, err)
		}
		began := time.Now()
		if s, err := i.StepHeld(t.Context(), "job"); s != nil || err != nil || time.Since(began) != 0 {
			t.Errorf("a step of a held write during a restore: %v, %v after %v", s, err, time.Since(began))
		}
		go step()
		if s := <-stepped; s != nil {
			t.Errorf("stepped %v during a restore", s)
		}
		if s := <-stepped; s != nil {
			t.Errorf("stepped %v during a restore", s)
		}
		go step()
		synctest.Wait()
		r.resume()
		wrote := make(chan error, 1)
		go func() { wrote <- createPod(t.Context(), r.unit.currentGate(), &countingTransport{}) }()
		if s := <-stepped; s == nil || s.Status != 201 {
			t.Errorf("stepped %+v after the restore", s)
		}
		if err := <-wrote; err != nil {
			t.Error(err)
		}
	})
}

// mustIntervene returns what an intervention returns, which must succeed.
func mustIntervene(t *testing.T) func([]string, error) []string {
	return func(names []string, err error) []string {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
		return names
	}
}
