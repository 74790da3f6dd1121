package ctrlplanetest

import (
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Snapshot is the saved state of a control plane.
type Snapshot struct{ data []byte }

// Snapshot saves the state of the control plane.
func (p *ControlPlane) Snapshot(t testing.TB) Snapshot {
	t.Helper()
	ctx, stop := p.testContext(t)
	defer stop()
	file, err := p.control.Snapshots().Save(ctx)
	if err != nil {
		t.Fatalf("ctrlplanetest: snapshot: %v", preferCause(ctx, err))
	}
	return Snapshot{file}
}

// Restore restores a snapshot in place: connections stay open, informers and watches
// see the changes, and controllers restart. It affects all namespaces, so nothing
// else may use the control plane at the same time.
func (p *ControlPlane) Restore(t testing.TB, s Snapshot) {
	t.Helper()
	if err := p.restoreSnapshot(t, s); err != nil {
		t.Fatalf("ctrlplanetest: restore: %v", err)
	}
}

func (p *ControlPlane) restoreSnapshot(t testing.TB, s Snapshot) error {
	ctx, stop := p.testContext(t)
	defer stop()
	_, err := p.control.Snapshots().Restore(ctx, s.data)
	return preferCause(ctx, err)
}

// isolatedEnv is set by Isolate, because package testing does not let a test that is
// parallel, or becomes so, set the environment.
const isolatedEnv = "CTRLPLANETEST_ISOLATED"

// Isolate reverts, when the test ends, every change of objects from now on, in all
// namespaces and outside of them, except for Leases. It also ends all interventions, whenever they
// began, with the configured numbers of workers and observe.SpeedFull. Call it after
// Namespace: cleanups run in reverse order, and controllers that are paused delete no namespace.
// The test cannot be parallel: if it is already, it fails.
func (p *ControlPlane) Isolate(t testing.TB) {
	t.Helper()
	forbidParallel(t)
	ctx, stop := p.testContext(t)
	defer stop()
	page, err := p.control.Records(ctx, observe.Query{Limit: 1})
	if err != nil {
		t.Fatalf("ctrlplanetest: %v", preferCause(ctx, err))
	}
	before := p.Snapshot(t)
	t.Cleanup(func() {
		if t.Failed() && !p.wasExplained(t) {
			p.explainFailure(t, "", page.Next)
		}
		if err := p.restoreSnapshot(t, before); err != nil {
			t.Errorf("ctrlplanetest: revert the changes of %s: %v", t.Name(), err)
		}
		if err := p.endInterventions(t); err != nil {
			t.Errorf("ctrlplanetest: end the interventions of %s: %v", t.Name(), err)
		}
	})
}

func forbidParallel(t testing.TB) {
	t.Helper()
	defer func() {
		t.Helper()
		switch reason := recover().(type) {
		case nil:
		case string: // of Setenv, which has no other way to refuse
			t.Fatalf("ctrlplanetest: Isolate: the test or the one around it is parallel, so changes of other tests would be reverted, too: remove t.Parallel")
		default:
			panic(reason)
		}
	}()
	t.Setenv(isolatedEnv, t.Name())
}

// endInterventions ends all interventions in controllers and clients.
func (p *ControlPlane) endInterventions(t testing.TB) error {
	ctx, stop := p.testContext(t)
	defer stop()
	return preferCause(ctx, p.control.EndInterventions(ctx))
}
