package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// loopingRecords returns rounds in which each sync of a Deployment is caused by the write of the one before, and a
// client writes a ConfigMap as an effect of its own writes. The last is at testNow.
func loopingRecords(rounds int, every time.Duration) []observe.Record {
	config := observe.Object{Resource: "configmaps", Kind: "ConfigMap", Namespace: "default", Name: "c"}
	wrote := func(o observe.Object, resource, version string) []observe.Written {
		return []observe.Written{{Resource: resource, Namespace: o.Namespace, Name: o.Name, ResourceVersion: version}}
	}
	var all []observe.Record
	add := func(at time.Time, e observe.Event) uint64 {
		all = append(all, observe.Record{Seq: uint64(len(all) + 1), Time: at, Event: e})
		return uint64(len(all))
	}
	var seen uint64 // the event that the client's last write led to
	for i := range rounds {
		at := testNow.Add(time.Duration(i+1-rounds) * every)
		id, before, after := uint64(i+1), fmt.Sprint(100+i), fmt.Sprint(101+i)
		cause := add(at.Add(-5*time.Millisecond), &observe.Delivered{Controller: "deployment-controller", Change: observe.Updated, Object: webDeployment,
			ResourceVersion: before, Queues: []string{"deployment"}, Adds: []uint64{id}})
		add(at.Add(-2*time.Millisecond), &observe.Called{Controller: "deployment-controller", Verb: "update", Object: webDeployment, Subresource: "status",
			Status: 200, Sync: id, Took: time.Millisecond, ResourceVersion: after, Wrote: wrote(webDeployment, "deployments.apps", after)})
		add(at.Add(-time.Millisecond), &observe.Synced{Controller: "deployment-controller", Queue: "deployment", ID: id, Key: "default/web",
			KeyBasis: observe.BasisQueue, Add: id, Cause: cause, Sure: true, Took: 3 * time.Millisecond, Writes: 1})
		add(at.Add(-time.Millisecond), &observe.Called{Controller: "shop (me)", Client: &observe.Caller{User: "me"}, Verb: "patch", Object: config,
			Status: 200, ResourceVersion: before, Cause: seen, Wrote: wrote(config, "configmaps", before)})
		seen = add(at, &observe.Delivered{Controller: "shop (me)", Change: observe.Updated, Object: config, ResourceVersion: before})
	}
	return all
}

// lookForLoops passes a tick, and makes the model look if it would.
func lookForLoops(t *testing.T, m model) model {
	t.Helper()
	m, _ = m.handleTick(m.now)
	if !m.loops.looking {
		return m
	}
	return sendMsgs(t, m, m.loopCmd()())
}

func TestHotLoops(t *testing.T) {
	s := idleSnapshot()
	s.Process.Settled, s.Process.Busy = false, []string{"deployment-controller"}
	for i := range s.Queues {
		if q := &s.Queues[i]; q.Name == "deployment" {
			q.AddRate, q.DoneRate = 10, 10
		}
	}
	s.Clients = []observe.Client{{Name: "shop (me)", State: stateRunning, RequestRate: 10}}
	source := &fixedSource{snapshot: s, records: loopingRecords(30, 100*time.Millisecond)}
	m := lookForLoops(t, newPlainModel(t, Options{Source: source}, 140, 30))
	if screen := strings.Join(m.drawScreen(), "\n"); !strings.Contains(screen, "hot loop: default/web") {
		t.Errorf("the loop is not shown:\n%s", screen)
	}
	if header := m.drawScreen()[1]; !strings.Contains(header, "hot loop of deployment: default/web") || !strings.Contains(header, "+1") {
		t.Errorf("the header is %q", header)
	}
	if page := strings.Join(m.openController("deployment-controller").drawScreen(), "\n"); !strings.Contains(page, "repeats     hot loop: default/web, 30 rounds, one every 100ms") {
		t.Errorf("the page of the controller:\n%s", page)
	}
	later := m
	later.loops.found = slices.Clone(m.loops.found)
	for i := range later.loops.found {
		later.loops.found[i].AtLeast = true
	}
	if page := strings.Join(later.openController("deployment-controller").drawScreen(), "\n"); !strings.Contains(page, "at least 30 rounds") {
		t.Errorf("the page of a loop that began before the records:\n%s", page)
	}
	if list := strings.Join(m.openClients().drawScreen(), "\n"); !strings.Contains(list, "hot loop: patch of Conf") {
		t.Errorf("the list of clients:\n%s", list)
	}

	if m.needsLoops() {
		t.Error("it looks again at once")
	}
	m.now = m.now.Add(ui.LoopInterval)
	source.snapshot.Clients = nil
	for i := range source.snapshot.Queues {
		source.snapshot.Queues[i].AddRate = 0.2
	}
	m = lookForLoops(t, pullOnce(t, m))
	if screen := strings.Join(m.drawScreen(), "\n"); strings.Contains(screen, "hot loop") {
		t.Errorf("a loop that has ended is shown:\n%s", screen)
	}
}

// TestBurstIsNoHotLoop: much work that causes no work of its own.
func TestBurstIsNoHotLoop(t *testing.T) {
	source := &fixedSource{snapshot: burstSnapshot(), records: podCreations(1, 500)}
	m := lookForLoops(t, newPlainModel(t, Options{Source: source}, 140, 30))
	if screen := strings.Join(m.drawScreen(), "\n"); strings.Contains(screen, "hot loop") {
		t.Errorf("got\n%s", screen)
	}
}
