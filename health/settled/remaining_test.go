package settled

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/observe"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// quietSnapshot is a snapshot without remaining work, modified by f.
func quietSnapshot(f func(*observe.Snapshot)) observe.Snapshot {
	s := observe.Snapshot{
		Time:        now,
		Process:     observe.Process{State: observe.Ready, Quiet: true},
		Queues:      []observe.Queue{{Controller: "job-controller", Name: "job", Adds: 4, Done: 4}},
		Controllers: []observe.Controller{{Name: "job-controller", State: "running"}},
	}
	if f != nil {
		f(&s)
	}
	return s
}

// failingSnapshot is a snapshot with a failed key that is retried after in.
func failingSnapshot(in time.Duration, times int) observe.Snapshot {
	return quietSnapshot(func(s *observe.Snapshot) {
		s.Queues[0].Delayed, s.Queues[0].NextDue = 1, now.Add(in)
		s.Controllers[0].Failing = []observe.FailingKey{
			{Queue: "job", Key: "shop/j", KeyBasis: observe.BasisLog, Error: "no\nquota", Times: times, Last: now.Add(-time.Second), Due: now.Add(in)},
		}
	})
}

func TestRemainingWork(t *testing.T) {
	job := func(what ...string) []Work { return []Work{{Where: "job-controller", What: what}} }
	pausedJob := func(what ...string) []Work { return []Work{{Where: "job-controller", What: what, Waits: "paused"}} }
	of := func(f func(*observe.Queue, *observe.Controller)) observe.Snapshot {
		return quietSnapshot(func(s *observe.Snapshot) { f(&s.Queues[0], &s.Controllers[0]) })
	}
	for _, test := range []struct {
		name     string
		snapshot observe.Snapshot
		want     []Work
	}{
		{"nothing", quietSnapshot(nil), nil},
		{"starting", quietSnapshot(func(s *observe.Snapshot) { s.Process.State = observe.Starting }),
			[]Work{{Where: "control plane", What: []string{"starting"}}}},
		{"unknown state", observe.Snapshot{}, []Work{{Where: "control plane", What: []string{"state unknown"}}}},
		{"on standby", quietSnapshot(func(s *observe.Snapshot) {
			s.Process.Leader, s.Process.LeaseHolder = observe.LeaderOther, "host_a_1"
			s.Queues[0].Depth = 1
		}), []Work{{Where: "control plane", What: []string{"on standby: the controllers run in host_a_1, which holds the lease"}}}},
		{"no leader", quietSnapshot(func(s *observe.Snapshot) { s.Process.Leader = observe.LeaderNone }),
			[]Work{{Where: "control plane", What: []string{"on standby: no process holds the lease of the controllers"}}}},
		{"the leader", quietSnapshot(func(s *observe.Snapshot) { s.Process.Leader, s.Process.LeaseHolder = observe.LeaderOwn, "host_b_1" }), nil},
		{"the new leader", quietSnapshot(func(s *observe.Snapshot) { s.Process.Leader, s.Process.TakingOver = observe.LeaderOwn, true }),
			[]Work{{Where: "control plane", What: []string{"it has become the leader and starts the controllers"}}}},
		{"queue of another process", quietSnapshot(func(s *observe.Snapshot) {
			s.Queues = append(s.Queues, observe.Queue{Controller: "operator (admin)", Name: "widget", Outside: true, Depth: 3, InFlight: -1})
		}), nil},
		{"writes of clients, and an event", quietSnapshot(func(s *observe.Snapshot) {
			s.Clients = []observe.Client{
				{Name: "kubectl (admin)", State: "paused", Held: 2, Writing: 2},
				{Name: "operator (admin)", State: "running", Reason: "each call waits 10s", Interventions: observe.Interventions{Delay: 10 * time.Second}, Writing: 1},
				{Name: "idle (admin)", State: "running", InFlight: 3},
				{Name: "reporting (admin)", State: "running", Held: 1, Writing: 1},
				{Name: "told (admin)", State: "running", AwaitsReport: true},
			}
		}), []Work{{Where: "kubectl (admin)", What: []string{"2 writes held: the client is paused"}, Waits: "paused"}, {Where: "operator (admin)", What: []string{"1 write in flight: each call waits 10s"}, Waits: "delayed"},
			{Where: "reporting (admin)", What: []string{"1 write held: a controller of the client is paused"}, Waits: "paused"},
			{Where: "told (admin)", What: []string{"its next report is awaited: a moment ago an event was sent to it, or its connection was closed"}}}},
		{"a moment ago", quietSnapshot(func(s *observe.Snapshot) { s.Process.Quiet = false }),
			[]Work{{Where: "control plane", What: []string{"the last write, delivery or sync was only a moment ago"}}}},
		{"of a client, a moment ago", quietSnapshot(func(s *observe.Snapshot) { s.Process.Quiet, s.Process.LastActive = false, "shop (bob)" }),
			[]Work{{Where: "shop (bob)", What: []string{"the last write, delivery or sync was only a moment ago"}}}},
		{"queued and in flight", quietSnapshot(func(s *observe.Snapshot) {
			s.Process.Quiet = false
			s.Queues[0].Depth, s.Queues[0].InFlight = 3, 1
			s.Queues = append(s.Queues, observe.Queue{Name: "unowned", Depth: 1})
			s.Controllers[0].Running = []observe.RunningSync{
				{Queue: "job", Key: "shop/j", KeyBasis: observe.BasisEvent, Since: now.Add(-1500 * time.Millisecond)},
				{Queue: "job", Since: now.Add(-time.Second)},
			}
		}), []Work{
			{Where: "job-controller", What: []string{
				"queue job has depth 3, 1 in flight",
				"sync of likely shop/j running for 1.5 s",
				"sync of an unknown key running for 1.0 s",
			}},
			{Where: "unowned", What: []string{"queue unowned has depth 1, 0 in flight"}},
		}},
		{"many syncs", of(func(_ *observe.Queue, c *observe.Controller) {
			for _, ago := range []time.Duration{1, 7, 2, 9, 3} {
				c.Running = append(c.Running, observe.RunningSync{Queue: "job", Since: now.Add(-ago * time.Second)})
			}
		}), job("sync of an unknown key running for 9.0 s", "sync of an unknown key running for 7.0 s", "sync of an unknown key running for 3.0 s", "2 other syncs running")},
		{"many syncs of a paused controller", of(func(_ *observe.Queue, c *observe.Controller) {
			c.State, c.Writing, c.Held = "paused", 4, 4
			for range 4 {
				c.Running = append(c.Running, observe.RunningSync{Queue: "job", Since: now.Add(-time.Second)})
			}
		}), pausedJob("sync of an unknown key running for 1.0 s: the controller is paused and its writes are held", "sync of an unknown key running for 1.0 s: the controller is paused and its writes are held",
			"sync of an unknown key running for 1.0 s: the controller is paused and its writes are held", "1 other sync running: the controller is paused and its writes are held", "4 writes held: the controller is paused")},
		{"parked keys", of(func(q *observe.Queue, _ *observe.Controller) { q.Depth, q.Parked = 7, true }), nil},
		{"parked, with one in flight", of(func(q *observe.Queue, _ *observe.Controller) { q.Depth, q.InFlight, q.Parked = 7, 1, true }),
			job("queue job has depth 7, 1 in flight")},

		{"retried soon", failingSnapshot(70*time.Millisecond, 1), job("shop/j in queue job failed once and is retried in 70 ms: no quota")},
		{"its timer is late", failingSnapshot(-3*time.Millisecond, 3), job("shop/j in queue job failed 3 times in a row and its retry is due: no quota")},
		{"retried at the horizon", failingSnapshot(time.Second, 9), job("shop/j in queue job failed 9 times in a row and is retried in 1.0 s: no quota")},
		{"a delayed key waits for a worker", of(func(q *observe.Queue, _ *observe.Controller) { q.NextDue = now.Add(-time.Second) }), job("a delayed key is due in queue job")},
		{"a sync that began after the snapshot", of(func(_ *observe.Queue, c *observe.Controller) {
			c.Running = []observe.RunningSync{{Queue: "job", Key: "shop/j", Since: now.Add(228 * time.Millisecond)}}
		}), job("sync of shop/j running for <1 ms")},
		{"retried beyond the horizon", failingSnapshot(time.Second+1, 9), nil},
		{"delayed by a handler", of(func(q *observe.Queue, _ *observe.Controller) { q.NextDue = now.Add(time.Second) }),
			job("a delayed key is due in queue job in 1.0 s")},
		{"delayed, and another key failed without a retry", of(func(q *observe.Queue, c *observe.Controller) {
			q.NextDue = now.Add(time.Second)
			c.Failing = []observe.FailingKey{{Queue: "job", Key: "shop/j", Times: 1}, {Queue: "orphan", Key: "shop/k", Times: 1, Due: now}}
		}), job("a delayed key is due in queue job in 1.0 s")},
		{"retried, when is not known", of(func(q *observe.Queue, c *observe.Controller) {
			q.NextDue = now.Add(time.Second)
			c.Failing = []observe.FailingKey{{Queue: "job", Key: "shop/j", Times: 7, Retried: true, Error: "no quota"}}
		}), job("shop/j in queue job failed 7 times in a row and is retried: no quota", "a delayed key is due in queue job in 1.0 s")},
		{"retried, when is known of one key", of(func(q *observe.Queue, c *observe.Controller) {
			q.NextDue = now.Add(time.Second)
			c.Failing = []observe.FailingKey{{Queue: "job", Key: "shop/j", Times: 7, Retried: true}, {Queue: "job", Key: "shop/k", Times: 1, Retried: true, Due: q.NextDue}}
		}), job("shop/j in queue job failed 7 times in a row and is retried", "shop/k in queue job failed once and is retried in 1.0 s")},
		{"delayed in a component that is not a controller", of(func(q *observe.Queue, c *observe.Controller) { q.NextDue, c.State = now, "" }), nil},
		{"delayed in a queue without an owner", of(func(q *observe.Queue, _ *observe.Controller) { q.NextDue, q.Controller = now, "" }), nil},

		{"a write in flight", of(func(_ *observe.Queue, c *observe.Controller) { c.Writing = 1 }), job("1 write in flight")},
		{"a delayed write", of(func(_ *observe.Queue, c *observe.Controller) {
			c.State, c.Reason, c.Writing = "running", "each call waits 2m0s", 1
		}), job("1 write in flight: each call waits 2m0s")},
		{"held writes", of(func(_ *observe.Queue, c *observe.Controller) {
			c.State, c.Writing, c.Held = "paused", 3, 2
			c.Running = []observe.RunningSync{{Queue: "job", Key: "shop/j", KeyBasis: observe.BasisLog, Since: now.Add(-time.Second)}}
		}), pausedJob("sync of shop/j running for 1.0 s: the controller is paused and its writes are held", "2 writes held: the controller is paused", "1 write in flight")},
		{"held Events", of(func(_ *observe.Queue, c *observe.Controller) { c.State, c.Writing, c.Held = "paused", 0, 2 }), nil},
		{"started", of(func(_ *observe.Queue, c *observe.Controller) { c.State = "building" }), job("the controller is being started")},
		{"stopped", of(func(_ *observe.Queue, c *observe.Controller) { c.State = "stopping" }), job("the controller is being stopped")},
		{"started, with a reason", of(func(_ *observe.Queue, c *observe.Controller) {
			c.State, c.Reason = "building", "its workers have not started; list of pods is refused: forbidden"
		}), job("the controller is being started: its workers have not started; list of pods is refused: forbidden")},
		{"unknown", of(func(_ *observe.Queue, c *observe.Controller) { c.State = "unknown" }), job("it is unknown whether the controller is running")},
		{"unknown and paused", of(func(_ *observe.Queue, c *observe.Controller) {
			c.State, c.Process = observe.StatePaused, observe.StateUnknown
		}), job("it is unknown whether the controller is running")},
		{"restored", quietSnapshot(func(s *observe.Snapshot) { s.Process.Restoring = true }),
			[]Work{{Where: "control plane", What: []string{"a snapshot is being restored"}}}},
		{"paused without held writes", of(func(_ *observe.Queue, c *observe.Controller) { c.State = "paused" }), nil},
		{"not delivered", quietSnapshot(func(s *observe.Snapshot) {
			lacks := func(name string, resources ...string) {
				c := observe.Controller{Name: name}
				for _, r := range resources {
					c.Behind = append(c.Behind, observe.WatchLag{Resource: r, Delivered: 7, Written: 9})
				}
				s.Controllers = append(s.Controllers, c)
			}
			lacks("a", "nodes", "pods")
			lacks("b", "pods")
			lacks("c", "pods")
			lacks("d", "pods")
			lacks("e", "pods")
		}), []Work{{Where: "informers", What: []string{"version 9 of nodes is not delivered to a", "version 9 of pods is not delivered to a, b, c, 2 more"}}}},
		{"a timer", quietSnapshot(func(s *observe.Snapshot) {
			s.Timers = []observe.Timer{
				{Controller: "simulated-kubelet", What: "Pod shop/j-1", Due: now.Add(200 * time.Millisecond)},
				{Controller: "simulated-kubelet", What: "Pod shop/c-1", Due: now.Add(300 * time.Millisecond), Reason: "CrashLoopBackOff"},
				{Controller: "simulated-kubelet", What: "Pod shop/j-2", Due: now.Add(2 * time.Second)},
			}
		}), []Work{{Where: "simulated-kubelet", What: []string{"Pod shop/j-1 is due in 200 ms", "Pod shop/c-1 (CrashLoopBackOff) is due in 300 ms"}}}},
		{"a restart beyond the horizon", quietSnapshot(func(s *observe.Snapshot) {
			s.Timers = []observe.Timer{{Controller: "simulated-kubelet", What: "Pod shop/c-1", Due: now.Add(9 * time.Second), Reason: "CrashLoopBackOff"}}
		}), nil},
		{"a probe that decides, beyond the horizon", quietSnapshot(func(s *observe.Snapshot) {
			s.Timers = []observe.Timer{{Controller: "simulated-kubelet", What: "the liveness probe of container app", Due: now.Add(9 * time.Second), Awaited: true}}
		}), []Work{{Where: "simulated-kubelet", What: []string{"the liveness probe of container app is due in 9.0 s"}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, RemainingWork(test.snapshot, time.Second)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHorizon(t *testing.T) {
	s := failingSnapshot(1280*time.Millisecond, 9)
	if got := RemainingWork(s, 2*time.Second); len(got) != 1 {
		t.Errorf("a retry in 1.28 s: got %v, want it within 2 s", got)
	}
	if got := RemainingWork(s, 0); got != nil {
		t.Errorf("a retry in 1.28 s: got %v, want nothing with no horizon", got)
	}
}

func TestWorkIsOneLine(t *testing.T) {
	if got, want := (Work{Where: "a", What: []string{"b", "c"}}).String(), "a: b; c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
