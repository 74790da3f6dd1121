package controllers

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/intervene"
)

// restoredUnit is a running controller that is suspended as a restore does it.
type restoredUnit struct {
	supervisor *Supervisor
	unit       *unit
	kept       intervene.Intervention
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
	r.supervisor.suspension.Store(&suspension{ended: make(chan struct{})})
	r.unit.muteEvents(r.unit.status().State)
	r.kept = r.unit.currentGate().Intervention()
	r.unit.closeGate()
	r.unit.setState(Off, stoppedReason, nil)
}

// resume starts it again with its interventions.
func (r *restoredUnit) resume() {
	r.unit.replaceGate(intervene.ObjectReader{}, nil).Apply(r.kept)
	r.unit.setState(Running, "", r.restarted)
	r.unit.unmuteEvents()
	close(r.supervisor.suspension.Load().ended)
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
			return i.Pause(ctx, []string{control.AllControllers})
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

// All controllers are off during a restore: which of them run is known at its end.
func TestStopAllWaitsForTheEndOfARestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRestoredUnit(t)
		r.supervisor.informers = &sharedInformers{}
		r.restarted = &unitRun{facade: &facade{}, cancel: func() {}, done: make(chan struct{})}
		close(r.restarted.done)
		i, all := r.supervisor.Interventions(), []string{control.AllControllers}
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
		changed, err := interventions{r.supervisor}.clearFromGates(t.Context(), []string{"job"}, func(g *intervene.Gate) bool {
			if calls++; calls == 1 {
				r.suspend() // it keeps the pause
				r.resume()
			}
			return g.Resume()
		})
		if diff := cmp.Diff([]string{"job-controller"}, changed); err != nil || diff != "" {
			t.Errorf("%v, %s", err, diff)
		}
		if got := r.unit.status(); got.State != Running {
			t.Errorf("after the restore: %+v", got)
		}
	})
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
