package browser_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

// class is a control plane that a test makes up: rollouts of Deployments by the
// controllers that everybody knows.
type class struct {
	mu       sync.Mutex
	records  []observe.Record
	version  int
	syncs    uint64
	adds     map[string]uint64 // to queues
	depth    map[string]int64  // of queues, by controller
	delayed  map[string]int64
	inFlight map[string]int64
	addRate  map[string]float64
	states   map[string]string
	broken   map[string][]observe.FailingKey // by controller
	problems []observe.Problem
	unlisted map[string]string                // by controller
	set      map[string]observe.Interventions // by controller or client
	refused  string                           // reads of kubectl
	ended    []string                         // the interventions that the page has ended
	speed    observe.Speed
	second   string // a controller with a second queue, whose workers are not known
	failing  error
	started  time.Time
	rollouts int

	endedOperator observe.EndedOperator
	now           func() time.Time
}

func newClass() *class {
	return &class{adds: map[string]uint64{}, depth: map[string]int64{}, delayed: map[string]int64{}, inFlight: map[string]int64{}, addRate: map[string]float64{}, states: map[string]string{}, broken: map[string][]observe.FailingKey{}, unlisted: map[string]string{}, set: map[string]observe.Interventions{}, speed: observe.SpeedFull, started: time.Now(), now: time.Now}
}

// actor is a controller of the class.
type actor struct {
	name, queue string
	watches     []string
	writes      []observe.WriteCount
	workers     int // 0 = unknown
}

const kubectl = "kubectl (kubernetes-admin)"

var actors = []actor{
	{"deployment-controller", "deployment", []string{"deployments.apps", "pods", "replicasets.apps"}, []observe.WriteCount{{Verb: "create", Resource: "replicasets.apps"}, {Verb: "update", Resource: "deployments.apps/status"}}, 5},
	{"replicaset-controller", "replicaset", []string{"pods", "replicasets.apps"}, []observe.WriteCount{{Verb: "create", Resource: "pods"}, {Verb: "update", Resource: "replicasets.apps/status"}}, 5},
	{"kube-scheduler", "active", []string{"nodes", "pods"}, []observe.WriteCount{{Verb: "create", Resource: "pods/binding"}}, 0},
	{"simulated-kubelet", "pods", []string{"nodes", "pods"}, []observe.WriteCount{{Verb: "patch", Resource: "pods/status"}}, 4},
	{"job-controller", "job", []string{"jobs.batch", "pods"}, nil, 20},
	{"kube-apiserver", "crd", nil, nil, 1},
}

func (c *class) Snapshot(context.Context) (observe.Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := observe.Snapshot{
		Time:    c.now(),
		Process: observe.Process{Name: "class", State: observe.Ready, Settled: len(c.depth) == 0, Started: c.started, Speed: c.speed, EndedOperator: c.endedOperator},
		Clients: []observe.Client{{
			Name: kubectl, Caller: observe.Caller{User: "kubernetes-admin", UserAgent: "kubectl <b>bold</b>"}, State: "running",
			Refused: c.refused, Interventions: c.set[kubectl], Reason: c.set[kubectl].String(),
		}},
		Journal: observe.JournalStats{Last: uint64(len(c.records))},

		Problems: c.problems,
	}
	for _, a := range actors {
		state := c.states[a.name]
		if state == "" {
			state = "running"
		}
		reason := c.set[a.name].String()
		if state == observe.StateOff {
			reason = observe.ReasonStopped
		}
		s.Controllers = append(s.Controllers, observe.Controller{Name: a.name, State: state, Reason: reason, Interventions: c.set[a.name], Watches: a.watches, Writes: a.writes, Failing: c.broken[a.name], Unlisted: c.unlisted[a.name]})
		s.Queues = append(s.Queues, observe.Queue{Controller: a.name, Name: a.queue, Depth: c.depth[a.name], Delayed: c.delayed[a.name], InFlight: c.inFlight[a.name], AddRate: c.addRate[a.name], Workers: a.workers})
		if a.name == c.second {
			s.Queues = append(s.Queues, observe.Queue{Controller: a.name, Name: "second"})
		}
	}
	return s, c.failing
}

func (c *class) Records(_ context.Context, q observe.Query) (observe.Page, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	page := observe.Page{Next: max(q.After, uint64(len(c.records)))}
	for _, r := range c.records[min(q.After, uint64(len(c.records))):] {
		if q.Match(&r) {
			page.Records = append(page.Records, r)
		}
	}
	return page, c.failing
}

func (c *class) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// append adds records. c.mu is held.
func (c *class) append(events ...observe.Event) uint64 {
	for _, e := range events {
		c.records = append(c.records, observe.Record{Seq: uint64(len(c.records) + 1), Time: c.now(), Event: e})
	}
	return uint64(len(c.records))
}

// deliver adds an event that queues a key, and the sync of that key with a write.
func (c *class) deliver(a actor, about observe.Object, write observe.Called) {
	c.adds[a.queue]++
	cause := c.append(&observe.Delivered{Controller: a.name, Change: observe.Added, Object: about, ResourceVersion: fmt.Sprint(c.version), Queues: []string{a.queue}, Adds: []uint64{c.adds[a.queue]}})
	c.syncs++
	c.version++
	write.Controller, write.Sync, write.ResourceVersion, write.Took = a.name, c.syncs, fmt.Sprint(c.version), time.Millisecond
	if write.Status == 0 {
		write.Status = 201
	}
	synced := &observe.Synced{Controller: a.name, Queue: a.queue, ID: c.syncs, Key: about.Key(), KeyBasis: observe.BasisLog, Add: c.adds[a.queue], Cause: cause, Sure: true, Took: time.Millisecond, Writes: 1}
	c.append(&write, synced)
}

// rollOut adds the records of a Deployment with one Pod: four keys.
func (c *class) rollOut(name string) { c.rollOutIn("default", name) }

func (c *class) rollOutIn(namespace, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rollouts++
	deployment := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: namespace, Name: name}
	replicaSet := observe.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Namespace: namespace, Name: name + "-5fc9f4bf66"}
	pod := observe.Object{Resource: "pods", Kind: "Pod", Namespace: namespace, Name: name + "-5fc9f4bf66-x2x9k"}
	c.version++
	c.append(&observe.Called{Controller: "kubectl (kubernetes-admin)", Client: &observe.Caller{User: "kubernetes-admin"}, Verb: "create", Object: deployment, Status: 201, ResourceVersion: fmt.Sprint(c.version)})
	c.deliver(actors[0], deployment, observe.Called{Verb: "create", Object: replicaSet})
	c.deliver(actors[1], replicaSet, observe.Called{Verb: "create", Object: pod})
	c.deliver(actors[2], pod, observe.Called{Verb: "create", Object: pod, Subresource: "binding"})
	c.deliver(actors[3], pod, observe.Called{Verb: "patch", Object: pod, Subresource: "status", Status: 200})
}

// roll rolls out at a rate until ctx ends.
func (c *class) roll(ctx context.Context, keysPerSecond int) {
	const keys = 4
	tick := time.NewTicker(time.Second * keys / time.Duration(keysPerSecond))
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.rollOut(fmt.Sprint("web-", i))
		}
	}
}

// hands are the interventions in a class.
type hands struct {
	control.Interventions
	class *class
}

func (h hands) set(names []string, state string) ([]string, error) {
	h.class.change(func() {
		for _, name := range names {
			h.class.states[name] = state
			h.class.append(&observe.ControllerChanged{Controller: name, State: state})
		}
	})
	return names, nil
}

// named returns the names of all controllers and clients with an intervention for control.All.
func (h hands) named(names []string) []string {
	if !slices.Equal(names, []string{control.All}) {
		return names
	}
	all := map[string]bool{}
	h.class.change(func() {
		for name := range h.class.set {
			all[name] = true
		}
		for name := range h.class.states {
			all[name] = true
		}
	})
	return slices.Sorted(maps.Keys(all))
}

func (h hands) Change(_ context.Context, names []string, c control.Change) ([]string, error) {
	names = h.named(names)
	switch c.Verb {
	case control.Pause:
		return h.set(names, "paused")
	case control.Resume:
		h.end("resume", names, func(i *observe.Interventions) { i.Paused = false })
		return h.set(names, "running")
	case control.Start:
		h.end("start", names, func(*observe.Interventions) {})
		return h.set(names, "running")
	case control.Clear:
		h.end("clear", names, func(i *observe.Interventions) { i.Delay, i.Fault = 0, observe.Fault{} })
	case control.Scale:
		h.end(fmt.Sprintf("scale to %d", c.Workers), names, func(i *observe.Interventions) {
			if c.Workers == i.ConfiguredWorkers {
				i.Workers, i.ConfiguredWorkers = 0, 0
			}
		})
	}
	return names, nil
}

// end notes that the page ends interventions.
func (h hands) end(verb string, names []string, change func(*observe.Interventions)) {
	h.class.change(func() {
		for _, name := range names {
			i := h.class.set[name]
			change(&i)
			h.class.set[name] = i
			h.class.ended = append(h.class.ended, verb+" "+name)
		}
	})
}

func (h hands) HeldWrites(_ context.Context, name string, _ int) (control.HeldWriteList, error) {
	held := control.HeldWrite{Verb: "create", Object: observe.Object{Resource: "pods", Kind: "Pod", Name: "web-5fc9f4bf66-"}, Since: time.Now()}
	return control.HeldWriteList{Controller: name, Paused: true, Items: []control.HeldWrite{held}, Total: 1}, nil
}

func (h hands) StepWithin(context.Context, string, time.Duration) (*control.SteppedWrite, error) {
	return &control.SteppedWrite{
		HeldWrite: control.HeldWrite{Verb: "update", Object: observe.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Name: "web"}}, Status: 200,
		Before: []byte(`{"spec":{"replicas":1}}`), After: []byte(`{"spec":{"replicas":3}}`),
	}, nil
}

func (h hands) SetSpeed(_ context.Context, s observe.Speed) error {
	h.class.change(func() { h.class.speed = s })
	return nil
}

func (h hands) StepKey(context.Context) (*control.ReleasedKey, error) { return nil, nil }
