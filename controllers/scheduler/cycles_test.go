package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	upstream "k8s.io/kubernetes/pkg/scheduler"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/observe"
)

// steppedScheduler is an upstream.Scheduler whose steps a test takes.
type steppedScheduler struct {
	*upstream.Scheduler
	observer *observe.Observer
	cycles   *cycles
	next     framework.QueuedEntityInfo
	log      klog.Logger
	write    func() // of the status of a Pod that was refused; nil = nothing
}

func newSteppedScheduler(t *testing.T) *steppedScheduler {
	t.Helper()
	ready := func() observe.Process { return observe.Process{State: observe.Ready} }
	s := &steppedScheduler{Scheduler: &upstream.Scheduler{}, observer: observe.New(observe.Options{Process: ready})}
	t.Cleanup(func() { s.observer.Close() })
	s.cycles = newCycles(s.observer.Recorder(Name), &Totals{})
	s.log = s.cycles.newLogger(slog.DiscardHandler)
	s.NextEntity = func(klog.Logger) (framework.QueuedEntityInfo, error) { return s.next, nil }
	s.SchedulePod = func(context.Context, framework.Framework, fwk.CycleState, *framework.QueuedPodInfo) (upstream.ScheduleResult, error) {
		return upstream.ScheduleResult{}, nil
	}
	s.FailureHandler = func(_ context.Context, _ framework.Framework, pod *framework.QueuedPodInfo, status *fwk.Status, _ *fwk.NominatingInfo, _ time.Time) {
		queue := "Unschedulable"
		if !status.IsRejected() {
			queue = "Backoff"
		}
		s.log.V(3).Info(movedPod, "pod", klog.KObj(pod.Pod), "event", "ScheduleAttemptFailure", "queue", queue)
		if s.write != nil {
			s.write()
		}
	}
	s.cycles.observe(s.Scheduler)
	return s
}

// deliver delivers an event of a Pod or a Node that moves a Pod to the active queue.
func (s *steppedScheduler) deliver(of observe.Object, pod *corev1.Pod) (seq uint64) {
	s.cycles.recorder.Deliver(&observe.Delivered{Change: observe.Added, Object: of}, func() {
		s.log.V(5).Info(movedEntity, "type", "pod", "entity", klog.KObj(pod), "event", "x", "queue", "Active")
	})
	last := s.records(observe.KindDelivered)
	return last[len(last)-1].Seq
}

func (s *steppedScheduler) take(t *testing.T, pod *corev1.Pod) *framework.QueuedPodInfo {
	t.Helper()
	info := &framework.QueuedPodInfo{PodInfo: &framework.PodInfo{Pod: pod}}
	s.next = info
	if _, err := s.NextEntity(s.log); err != nil {
		t.Fatal(err)
	}
	return info
}

func (s *steppedScheduler) records(kind observe.Kind) []observe.Record {
	page, _ := s.observer.Records(context.Background(), observe.Query{Kinds: []observe.Kind{kind}})
	return page.Records
}

func (s *steppedScheduler) syncs() (list []*observe.Synced) {
	for _, r := range s.records(observe.KindSynced) {
		list = append(list, r.Event.(*observe.Synced))
	}
	return list
}

func testPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
}

// discardedEvents is an event recorder.
type discardedEvents struct{ events.EventRecorderLogger }

func (d discardedEvents) WithLogger(klog.Logger) events.EventRecorderLogger { return d }
func (discardedEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {
}

// deafQueue is a scheduling queue that ignores deletions.
type deafQueue struct{ internalqueue.SchedulingQueue }

func (deafQueue) Delete(klog.Logger, *corev1.Pod) {}

// A Pod that fits no node at first is bound because of the event that made it fit, and
// the binding belongs to the attempt although another Pod is being scheduled meanwhile.
func TestCycles(t *testing.T) {
	s := newSteppedScheduler(t)
	web, other := testPod("web"), testPod("other")
	events := s.cycles.observeBindings(func(string) events.EventRecorderLogger { return discardedEvents{} })("default-scheduler").WithLogger(s.log)

	created := s.deliver(observe.Object{Resource: "pods", Name: "web"}, web)
	info := s.take(t, web)
	if _, err := s.SchedulePod(t.Context(), nil, nil, info); err != nil {
		t.Fatal(err)
	}
	nodes := framework.NewDefaultNodeToStatus()
	nodes.Set("n1", fwk.NewStatus(fwk.Unschedulable, "Insufficient cpu").WithPlugin("NodeResourcesFit"))
	nodes.Set("n2", fwk.NewStatus(fwk.Unschedulable, "Insufficient cpu", "Insufficient memory").WithPlugin("NodeResourcesFit"))
	nodes.Set("n3", fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) had untolerated taint").WithPlugin("TaintToleration"))
	refused := &framework.FitError{Pod: web, NumAllNodes: 3, Diagnosis: framework.Diagnosis{NodeToStatus: nodes, PostFilterMsg: "preemption: no victims"}}
	s.log.Error(nil, preemptionFailed, "pod", klog.KObj(web), "status", "preemption: no victims")
	s.FailureHandler(t.Context(), nil, info, fwk.NewStatus(fwk.Unschedulable).WithError(refused), nil, time.Now())

	node := s.deliver(observe.Object{Resource: "nodes", Name: "n4"}, web)
	info = s.take(t, web)
	if _, err := s.SchedulePod(t.Context(), nil, nil, info); err != nil {
		t.Fatal(err)
	}
	bind, bound := make(chan struct{}), make(chan struct{})
	go func() { // as upstream's binding cycle
		defer close(bound)
		<-bind
		s.cycles.recorder.RecordCall(&observe.Called{Verb: "create", Subresource: "binding", Status: 201})
		events.Eventf(web, nil, "Normal", "Scheduled", "Binding", "")
	}()
	s.deliver(observe.Object{Resource: "pods", Name: "other"}, other)
	s.take(t, other) // is being deleted: upstream skips it
	close(bind)
	<-bound
	s.take(t, testPod("third"))

	got := s.syncs()
	if len(got) != 3 {
		t.Fatalf("%d syncs, want 3", len(got))
	}
	first, second, skipped := got[0], got[1], got[2]
	if first.Cause != created || !first.Sure || first.Key != "default/web" || first.Retried || first.Failed() {
		t.Errorf("first attempt: %+v", first)
	}
	if second.Cause != node || second.Writes != 1 || second.Key != "default/web" {
		t.Errorf("second attempt: %+v; the node was delivered in %d", second, node)
	}
	if skipped.Key != "default/other" || skipped.Writes != 0 {
		t.Errorf("skipped Pod: %+v", skipped)
	}
	line := s.records(observe.KindLogged)[0].Event.(*observe.Logged)
	want := []observe.Attr{
		{Key: "NodeResourcesFit", Value: "Insufficient cpu (2 of 3 nodes), Insufficient memory (1 of 3 nodes)"},
		{Key: "TaintToleration", Value: "node(s) had untolerated taint (1 of 3 nodes)"},
		{Key: "preemption", Value: "no victims"},
	}
	if diff := cmp.Diff(want, line.Attrs); diff != "" || line.Sync != first.ID {
		t.Errorf("refusals of sync %d, want %d:\n%s", line.Sync, first.ID, diff)
	}
}

// An attempt that failed with an error is repeated because of itself.
func TestCyclesRetry(t *testing.T) {
	s := newSteppedScheduler(t)
	web := testPod("web")
	s.deliver(observe.Object{Resource: "pods", Name: "web"}, web)
	info := s.take(t, web)
	s.FailureHandler(t.Context(), nil, info, fwk.AsStatus(errors.New("no answer")), nil, time.Now())
	s.take(t, web)
	s.FailureHandler(t.Context(), nil, info, fwk.NewStatus(fwk.Unschedulable).WithError(upstream.ErrNoNodesAvailable), nil, time.Now())
	s.log.V(5).Info(movedEntity, "type", "pod", "entity", klog.KObj(web), "event", "UnschedulableTimeout", "queue", "Active") // by a timer
	s.take(t, web)
	s.cycles.bound(web.UID)
	got := s.syncs()
	if len(got) != 3 || got[0].Error != "no answer" || !got[0].Retried {
		t.Fatalf("syncs: %+v", got)
	}
	if got[1].CauseSync != got[0].ID || got[2].CauseSync != got[1].ID || got[1].Retried {
		t.Errorf("after an error: %+v, after a timeout: %+v", got[1], got[2])
	}
	s.log.V(5).Info(gatedEntity, "type", "pod", "entity", klog.KObj(web), "event", "x", "queue", "Unschedulable")
	// The second attempt took the Pod from the backoff queue, past the active one.
	for queue, want := range map[string]int64{activeQueue: 3, "backoff": 1, unschedulableQueue: 1, gatedQueue: 1} {
		if got, _ := s.cycles.totals.counts(queue, 0); got != want {
			t.Errorf("%d adds to %s, want %d", got, queue, want)
		}
	}
	if done := s.cycles.queue.Snapshot(time.Now()).Done; done != 3 {
		t.Errorf("%d done, want as many as were added to the active queue: 3", done)
	}
	if _, gets := s.cycles.totals.counts("backoff", 1); gets != 1 {
		t.Errorf("%d Pods have left the backoff queue, 1 before: depth and adds are read one after the other", gets)
	}
	forgettingQueue{deafQueue{}, s.cycles}.Delete(s.log, web)
	if len(s.cycles.waits)+len(s.cycles.queued)+len(s.cycles.failed)+len(s.cycles.active) != 0 {
		t.Errorf("left: %v, %v, %v, %v", s.cycles.waits, s.cycles.queued, s.cycles.failed, s.cycles.active)
	}
}

// TestTotalsOfARestartedScheduler: they go on. What was in a queue of the stopped scheduler has left it.
func TestTotalsOfARestartedScheduler(t *testing.T) {
	s := newSteppedScheduler(t)
	first, second := testPod("first"), testPod("second")
	s.deliver(observe.Object{Resource: "pods", Name: "first"}, first)
	s.deliver(observe.Object{Resource: "pods", Name: "second"}, second)
	s.take(t, first)
	s.cycles.bound(first.UID)
	if adds, gets := s.cycles.totals.counts(activeQueue, 1); adds != 2 || gets != 1 {
		t.Errorf("%d added, %d taken", adds, gets)
	}
	recorder := s.observer.Recorder(Name)
	recorder.CloseQueues()
	next := newCycles(recorder, s.cycles.totals)
	next.moved("default/second", activeQueue)
	if adds, gets := next.totals.counts(activeQueue, 1); adds != 3 || gets != 2 {
		t.Errorf("after a restart: %d added, %d taken", adds, gets)
	}
	if done := next.queue.Snapshot(time.Now()).Done; done != 1 {
		t.Errorf("%d done after a restart, want 1", done)
	}
}

// Nothing is kept of a Pod that is deleted, or that another client binds, whenever that happens. The
// scheduler does not try it again, so its last attempt does not remain as a failure.
func TestPodLeavesTheQueues(t *testing.T) {
	const duringAttempt, whileQueued, later = "before upstream queues it", "while upstream writes why", "after a failed attempt"
	for _, when := range []string{duringAttempt, whileQueued, later} {
		t.Run(when, func(t *testing.T) {
			s := newSteppedScheduler(t)
			web, other := testPod("web"), testPod("other")
			remove := func() { forgettingQueue{deafQueue{}, s.cycles}.Delete(s.log, web) }
			fail := func(pod *corev1.Pod) {
				s.FailureHandler(t.Context(), nil, s.take(t, pod), fwk.AsStatus(errors.New("no answer")), nil, time.Now())
			}
			s.deliver(observe.Object{Resource: "pods", Name: "web"}, web)
			switch when {
			case duringAttempt:
				s.take(t, web)
				remove()
				s.cycles.endFailed(s.cycles.takeOldest(web.UID), web, "no answer") // upstream does not queue it
			case whileQueued:
				s.write = remove
				fail(web)
				s.write = nil
			case later:
				fail(web)
				s.requireFailing(t, "default/web")
				remove()
			}
			if n := len(s.cycles.waits) + len(s.cycles.queued) + len(s.cycles.failed) + len(s.cycles.active); n != 0 {
				t.Errorf("left: %v, %v, %v, %v", s.cycles.waits, s.cycles.queued, s.cycles.failed, s.cycles.active)
			}
			s.requireFailing(t)
			fail(other)
			fail(testPod("web")) // created again
			s.requireFailing(t, "default/other", "default/web")
		})
	}
}

// A Pod may be deleted after upstream has taken it from its queue, and before its sync begins.
func TestPodDeletedWhileItIsTaken(t *testing.T) {
	s := newSteppedScheduler(t)
	web := testPod("web")
	s.deliver(observe.Object{Resource: "pods", Name: "web"}, web)
	forgettingQueue{deafQueue{}, s.cycles}.Delete(s.log, web)
	s.take(t, web)
	if got, _ := s.cycles.totals.counts(activeQueue, 0); got != 1 {
		t.Errorf("%d adds to the active queue, want 1", got)
	}
}

// requireFailing checks which keys fail.
func (s *steppedScheduler) requireFailing(t *testing.T, want ...string) {
	t.Helper()
	snapshot, err := s.observer.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range snapshot.Controllers {
		for _, f := range c.Failing {
			got = append(got, f.Key)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("failing: %q, want %q", got, want)
	}
}

// Upstream has put a Pod into another queue when it writes that the Pod does not fit, and
// waits before it repeats that write.
func TestRefusedStatusWriteIsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSteppedScheduler(t)
		retry := make(chan struct{})
		s.write = func() { <-retry }
		info := s.take(t, testPod("web"))
		go s.FailureHandler(t.Context(), nil, info, fwk.NewStatus(fwk.Unschedulable).WithError(upstream.ErrNoNodesAvailable), nil, time.Now())
		time.Sleep(time.Minute)
		for _, want := range []bool{false, true} {
			snapshot, err := s.observer.Snapshot(t.Context())
			if err != nil || snapshot.Process.Settled != want || (len(settled.RemainingWork(snapshot, time.Second)) == 0) != want {
				t.Errorf("want settled %v: %+v, %v", want, snapshot, err)
			}
			if !want {
				close(retry)
				time.Sleep(time.Minute)
			}
		}
	})
}

// Nothing is at work in a scheduler that has stopped, whatever it had taken from its queue, or takes late.
func TestStopEndsTheSyncs(t *testing.T) {
	take := func(t *testing.T, s *steppedScheduler, entity framework.QueuedEntityInfo) {
		s.next = entity
		if _, err := s.NextEntity(s.log); err != nil {
			t.Fatal(err)
		}
	}
	group := &framework.QueuedPodGroupInfo{PodGroupInfo: &framework.PodGroupInfo{Namespace: "default", Name: "group"}}
	for name, work := range map[string]func(*testing.T, *steppedScheduler){
		"a group of Pods":                       func(t *testing.T, s *steppedScheduler) { take(t, s, group) },
		"a Pod that is not scheduled after all": func(t *testing.T, s *steppedScheduler) { s.take(t, testPod("web")) },
		"a Pod that is being bound":             func(t *testing.T, s *steppedScheduler) { mustSchedule(t, s, s.take(t, testPod("web"))) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSteppedScheduler(t)
			inst := &instance{
				cycles: s.cycles, cancel: func() {}, events: events.NewBroadcaster(nil),
				typed: newOwnInformers(nil), dynamic: dynamicinformer.NewDynamicSharedInformerFactory(nil, 0),
			}
			work(t, s)
			if got := s.syncs(); len(got) != 0 {
				t.Fatalf("ended before the stop: %+v", got)
			}
			if err := inst.close(); err != nil {
				t.Fatal(err)
			}
			if got := s.syncs(); len(got) != 1 {
				t.Errorf("ended with the stop: %+v, want 1", got)
			}
			work(t, s)
			if got := s.syncs(); len(got) != 2 {
				t.Errorf("ended after the stop: %+v, want 2", got)
			}
			requireNoneLeft(t, s)
		})
	}
}

// Without a recorder, nothing is wrapped.
func TestCyclesWithoutRecorder(t *testing.T) {
	s := &upstream.Scheduler{}
	c := newCycles(nil, &Totals{})
	c.observe(s)
	if s.SchedulingQueue != nil || s.NextEntity != nil {
		t.Error("the scheduler was wrapped")
	}
	if c.newLogger(slog.DiscardHandler).V(5).Enabled() {
		t.Error("verbose lines are enabled")
	}
	if l := newCycles(observe.New(observe.Options{}).Recorder("r"), &Totals{}).newLogger(slog.DiscardHandler); !l.V(5).Enabled() || l.V(4).Enabled() || l.V(6).Enabled() {
		t.Error("what is enabled is not what is needed")
	}
}

// The next attempt for a Pod may begin before upstream has written why the last one failed,
// and while a binding is on its way: upstream skips it then. Each attempt ends by itself.
func TestOverlappingAttempts(t *testing.T) {
	t.Run("failing", func(t *testing.T) {
		s := newSteppedScheduler(t)
		web := testPod("web")
		s.deliver(observe.Object{Resource: "pods", Name: "web"}, web)
		info := s.take(t, web)
		mustSchedule(t, s, info)
		s.write = func() {
			s.write = nil
			mustSchedule(t, s, s.take(t, web))
		}
		s.FailureHandler(t.Context(), nil, info, fwk.AsStatus(errors.New("no answer")), nil, time.Now())
		if got := s.syncs(); len(got) != 1 || got[0].Error != "no answer" || !got[0].Retried {
			t.Fatalf("after the first attempt: %+v", got)
		}
		s.cycles.bound(web.UID)
		if got := s.syncs(); len(got) != 2 || got[1].Failed() || got[1].CauseSync != got[0].ID {
			t.Errorf("after the second attempt: %+v", got)
		}
		requireNoneLeft(t, s)
	})
	for name, end := range map[string]func(*steppedScheduler, *framework.QueuedPodInfo){
		"bound": func(s *steppedScheduler, info *framework.QueuedPodInfo) { s.cycles.bound(info.Pod.UID) },
		"not bound": func(s *steppedScheduler, info *framework.QueuedPodInfo) {
			s.FailureHandler(context.Background(), nil, info, fwk.AsStatus(errors.New("no answer")), nil, time.Now())
		},
	} {
		for when, during := range map[string]bool{"during": true, "after": false} {
			t.Run(name+" "+when+" an attempt that is skipped", func(t *testing.T) {
				s := newSteppedScheduler(t)
				web := testPod("web")
				info := s.take(t, web)
				mustSchedule(t, s, info)
				s.take(t, web) // an update during the attempt has added it again
				if during {
					end(s, info)
				}
				s.take(t, testPod("other"))
				if !during {
					end(s, info)
				}
				s.take(t, testPod("third"))
				got := s.syncs()
				if len(got) != 3 {
					t.Fatalf("%d syncs, want 3: %+v", len(got), got)
				}
				first := got[0]
				if !during {
					first = got[1]
				}
				if first.Failed() != (name == "not bound") {
					t.Errorf("the attempt that was %s: %+v", name, first)
				}
				s.take(t, testPod("fourth"))
				if left := s.cycles.active; len(left) != 1 {
					t.Errorf("left: %v", left)
				}
			})
		}
	}
}

func mustSchedule(t *testing.T, s *steppedScheduler, info *framework.QueuedPodInfo) {
	t.Helper()
	if _, err := s.SchedulePod(t.Context(), nil, nil, info); err != nil {
		t.Fatal(err)
	}
}

func requireNoneLeft(t *testing.T, s *steppedScheduler) {
	t.Helper()
	if n := len(s.cycles.active); n != 0 {
		t.Errorf("left: %v", s.cycles.active)
	}
}
