package nodes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// startedPod returns a Pod that has run with one amount of CPU, and asks for another since.
func startedPod(uid, has, wants string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := testPod(withRequest(corev1.ResourceCPU, has))
	pod.Name, pod.UID = uid, types.UID(uid)
	for _, c := range change {
		c(pod)
	}
	timeline(pod, testPlacement, 9)
	if wants == has {
		return pod
	}
	pod.Generation++
	withRequest(corev1.ResourceCPU, wants)(pod)
	if pod.Spec.Resources != nil {
		pod.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(wants)}
	}
	deferred := testPlacement
	deferred.resizeRejected = &rejection{"OutOfcpu", "full"}
	pod.Status, _ = podStatus(pod, deferred, epoch)
	return pod
}

// withPodResources gives a Pod as a whole what its container requests.
func withPodResources(p *corev1.Pod) {
	p.Spec.Resources = &corev1.ResourceRequirements{Requests: p.Spec.Containers[0].Resources.Requests}
}

// TestRestartKeepsDeferredResizes has a control plane that starts again, of whose Pods some have deferred
// resizes: as with a kubelet, these Pods keep what they have until the node has room.
func TestRestartKeepsDeferredResizes(t *testing.T) {
	for name, c := range map[string]struct {
		pods []*corev1.Pod // on a node with 2 CPUs
		want map[types.UID]int64
	}{
		"no resize":             {[]*corev1.Pod{startedPod("a", "1", "1"), startedPod("b", "1", "1")}, map[types.UID]int64{"a": 1000, "b": 1000}},
		"deferred":              {[]*corev1.Pod{startedPod("a", "1", "2"), startedPod("b", "1", "1")}, map[types.UID]int64{"a": 1000, "b": 1000}},
		"both deferred":         {[]*corev1.Pod{startedPod("a", "500m", "2"), startedPod("b", "1", "1750m")}, map[types.UID]int64{"a": 500, "b": 1000}},
		"of the Pod":            {[]*corev1.Pod{startedPod("a", "1", "2", withPodResources), startedPod("b", "1", "1")}, map[types.UID]int64{"a": 1000, "b": 1000}},
		"there is room by now":  {[]*corev1.Pod{startedPod("a", "1", "1500m"), startedPod("b", "500m", "500m")}, map[types.UID]int64{"a": 1500, "b": 500}},
		"the other has no room": {[]*corev1.Pod{startedPod("a", "1", "1200m"), startedPod("b", "500m", "900m")}, map[types.UID]int64{"a": 1200, "b": 500}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newTestRegistry(t, smallNode())
			var events []string
			f := &podFeed{
				ctx: t.Context(), registry: l, stages: newStageSet(nil),
				record:   func(pod *corev1.Pod, event podEvent) { events = append(events, pod.Name+" "+event.reason) },
				schedule: func(string, time.Time) {},
			}
			f.replace(c.pods)
			got := map[types.UID]int64{}
			for uid, e := range l.pods {
				got[uid] = e.load.requested.MilliCPU
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("loads (-want +got):\n%s", diff)
			}
			for _, e := range events {
				if e == "a ResizeDeferred" || e == "b ResizeDeferred" {
					t.Errorf("reported again: %s", e)
				}
			}
		})
	}
}

// TestRestartedNodeKeepsCondition: what is due for a Pod with a deferred resize is another try.
func TestRestartedNodeKeepsCondition(t *testing.T) {
	l := newTestRegistry(t, smallNode())
	pod, other := startedPod("a", "1", "2"), startedPod("b", "1", "1")
	l.admitStarted([]*corev1.Pod{pod, other}, false)
	l.updatePod(pod, false, nil)
	due, at, err := l.duePod(pod.UID)
	if err != nil {
		t.Fatal(err)
	}
	st, wake := podStatus(due, at, epoch)
	if _, c := podutil.GetPodCondition(&st, corev1.PodResizePending); c == nil || c.Reason != corev1.PodReasonDeferred || c.ObservedGeneration != 2 {
		t.Errorf("conditions: %+v", st.Conditions)
	}
	if cpu := st.ContainerStatuses[0].AllocatedResources.Cpu(); cpu.String() != "1" || !wake.Equal(epoch.Add(resizeRetryInterval)) {
		t.Errorf("has %v, decided again at %v", cpu, wake)
	}
	l.deletePod(other.UID)
	l.updatePod(pod, false, nil)
	if got := l.pods[pod.UID].load.requested.MilliCPU; got != 2000 {
		t.Errorf("after the other Pod was deleted the load is %dm", got)
	}
}

// TestRevertAfterARestart reverts a deferred resize after the control plane has started again: nothing of
// the Pod has changed.
func TestRevertAfterARestart(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"requests":   func(*corev1.Pod) {},
		"limits":     func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits = resources("8", "64Mi").Limits },
		"of the Pod": withPodResources,
	} {
		t.Run(name, func(t *testing.T) {
			l := newTestRegistry(t, smallNode())
			pod, other := startedPod("a", "1", "2", change), startedPod("b", "1", "1")
			l.admitStarted([]*corev1.Pod{pod, other}, false)
			got := l.updatePod(pod, false, nil).events
			pod.Generation++
			withRequest(corev1.ResourceCPU, "1")(pod)
			change(pod)
			got = append(got, l.updatePod(pod, false, nil).events...)
			if len(got) > 0 {
				t.Errorf("events %+v", got)
			}
			if has := l.pods[pod.UID].load; has.generation != pod.Generation || has.requested.MilliCPU != 1000 {
				t.Errorf("load %+v", has)
			}
		})
	}
}
