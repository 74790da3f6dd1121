package nodes

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// TestPodWaitsForAnAddress has more Pods on a node than its range has addresses.
func TestPodWaitsForAnAddress(t *testing.T) {
	node := testNode(func(n *corev1.Node) { n.Spec.PodCIDRs = []string{"fd00::/64", "10.244.1.0/30"} }) // 2 addresses
	l := newTestRegistry(t, node)
	now := epoch
	l.now = func() time.Time { return now }
	assignedPodIPs(l, "a", nil)
	assignedPodIPs(l, "b", nil)
	pod := testPod(func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Name: "i"}} })
	seen := l.updatePod(pod, false, nil)
	want := []podEvent{{warning: true, reason: "FailedCreatePodSandBox", message: "Failed to create pod sandbox: no IP addresses available in range set: 10.244.1.0/30"}}
	if diff := cmp.Diff(want, seen.events, cmp.AllowUnexported(podEvent{})); diff != "" {
		t.Error(diff)
	}
	play := func() (later time.Time) {
		t.Helper()
		due, at, err := l.duePod(pod.UID)
		if due == nil || err != nil {
			t.Fatalf("due: %v, %v", due, err)
		}
		pod.Status, later = podStatus(due, at, now)
		return later
	}
	if later := play(); !later.Equal(now.Add(sandboxRetryInterval)) {
		t.Errorf("tried again at %v", later)
	}
	got := describePod(pod) + ": " + conditionReasons(pod.Status)
	if diff := cmp.Diff("Pending, i: PodInitializing, a: PodInitializing: ContainersReady=False ContainersNotReady, Initialized=False ContainersNotInitialized, "+
		"PodReadyToStartContainers=False PodSandboxNotReady, PodScheduled, Ready=False ContainersNotReady", got); diff != "" {
		t.Error(diff)
	}
	if seen := l.updatePod(pod, false, nil); len(seen.events) > 0 || seen.next != (dueStage{name: podStatusLater, at: now.Add(sandboxRetryInterval)}) {
		t.Errorf("after the status was written: %+v", seen)
	}
	l.pods["a"].duePod, l.pods["b"].duePod = nil, nil
	if diff := cmp.Diff([]Due{{What: "Pod n/p", At: now.Add(sandboxRetryInterval)}}, l.nextDue()); diff != "" {
		t.Errorf("due: %s", diff)
	}
	for uid, e := range l.pods {
		if got := len(e.ips); (got == 0) != (uid == pod.UID) {
			t.Errorf("pod %s holds %d addresses", uid, got)
		}
	}
	l.deletePod("a")
	now = now.Add(sandboxRetryInterval)
	play()
	if got := fmt.Sprint(describePod(pod), " ", pod.Status.PodIPs[1:]); got != "Pending, i: runs, a: PodInitializing [{10.244.1.1}]" {
		t.Errorf("with an address: %s", got)
	}
}

// TestRestartKeepsAddresses has a control plane that starts again, with a Pod that waits for an address: the
// Pods that run keep theirs, in whatever order they are listed.
func TestRestartKeepsAddresses(t *testing.T) {
	at := testPlacement
	at.podIPs, at.sandboxError = nil, "none"
	waiting, running := testPod(nil), testPod(func(p *corev1.Pod) { p.UID = "r" })
	timeline(waiting, at, 1)
	at.podIPs, at.sandboxError = []netip.Addr{netip.MustParseAddr("10.244.1.1")}, ""
	timeline(running, at, 1)
	l := newTestRegistry(t, testNode(nil))
	f := &podFeed{
		ctx: t.Context(), registry: l, stages: newStageSet(nil),
		record: func(*corev1.Pod, podEvent) {}, schedule: func(string, time.Time) {},
	}
	f.replace([]*corev1.Pod{waiting, running})
	if got := fmt.Sprint(l.podIPs("r"), l.podIPs("u")); got != "[10.244.1.1] [10.244.1.2]" {
		t.Errorf("addresses: %s", got)
	}
}

// TestHostnameIsTooLong has a Pod whose host name, as a FQDN, is longer than a kernel accepts.
func TestHostnameIsTooLong(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"FQDN":             {func(*corev1.Pod) {}, "failed to construct FQDN from pod hostname and cluster domain, FQDN long.ssssssssssssssssssssssssssssssssssssssss.n.svc.cluster.local is too long (64 characters is the max, 65 characters requested)"},
		"shorter":          {func(p *corev1.Pod) { p.Spec.Hostname = "lon" }, ""},
		"not the FQDN":     {func(p *corev1.Pod) { p.Spec.SetHostnameAsFQDN = nil }, ""},
		"host network":     {func(p *corev1.Pod) { p.Spec.HostNetwork = true }, ""},
		"without a domain": {func(p *corev1.Pod) { p.Spec.Subdomain = "" }, ""},
	} {
		l := newTestRegistry(t, testNode(nil))
		pod := testPod(func(p *corev1.Pod) {
			p.Spec.Hostname, p.Spec.Subdomain, p.Spec.SetHostnameAsFQDN = "long", strings.Repeat("s", 40), new(true)
			c.change(p)
		})
		seen := l.updatePod(pod, false, nil)
		_, at, err := l.duePod(pod.UID)
		if err != nil {
			t.Fatal(err)
		}
		if at.sandboxError != c.want || (len(seen.events) > 0) != (c.want != "") || (len(at.podIPs) == 0) != (c.want != "") {
			t.Errorf("%s: %q, events %v, addresses %v", name, at.sandboxError, seen.events, at.podIPs)
		}
	}
}

// TestPodEndsWithoutAnAddress deletes a Pod that waits for an address, and ends another at its deadline.
func TestPodEndsWithoutAnAddress(t *testing.T) {
	at := testPlacement
	at.podIPs, at.sandboxError = nil, "none"
	pod := testPod(func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = new(int64(15)) })
	want := []string{"0s Pending, a: ContainerCreating", "10s Pending, a: ContainerCreating", "15s Failed, DeadlineExceeded, a: exit 137", "rests"}
	if diff := cmp.Diff(want, timeline(pod, at, 9)); diff != "" {
		t.Error(diff)
	}
	pod = testPod(nil)
	timeline(pod, at, 1)
	pod = deletedPod(pod)
	if due := nextPodStage(pod, at, epoch); due.name != podDeleteNow {
		t.Errorf("due when it is deleted: %+v", due)
	}
}

// TestRunningPodWithoutAnAddress has a Pod that an older version has started without one.
func TestRunningPodWithoutAnAddress(t *testing.T) {
	pod := testPod(func(p *corev1.Pod) { p.UID = types.UID("u"); p.Annotations[annotations.RunFor] = "5s" })
	timeline(pod, testPlacement, 1)
	pod.Status.PodIP, pod.Status.PodIPs = "", nil
	at := testPlacement
	at.podIPs, at.sandboxError = nil, "none"
	pod.Status, _ = podStatus(pod, at, epoch.Add(5*time.Second))
	if got := describePod(pod); got != "Running, a: exit 0" {
		t.Errorf("got %s", got)
	}
}
