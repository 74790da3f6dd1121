package ctrlplanetest

import (
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Snapshot is that of a whole control plane at one moment.
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

// Restore puts the control plane back to a state that was saved, in place:
// connections stay, informers and watches see what changes, and controllers begin
// anew. It is for all namespaces: nothing else may run beside it.
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

// isolatedEnv is set in tests that Isolate is for: package testing lets no test
// set the environment that is parallel, or may become so.
const isolatedEnv = "CTRLPLANETEST_ISOLATED"

// Isolate takes back at the end of the test all that happens from now on, in all
// namespaces and outside of them. The test cannot be parallel.
func (p *ControlPlane) Isolate(t testing.TB) {
	t.Helper()
	t.Setenv(isolatedEnv, t.Name())
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
			t.Errorf("ctrlplanetest: what %s has changed could not be taken back: %v", t.Name(), err)
		}
	})
}
