package nodes

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

func withRequest(name corev1.ResourceName, quantity string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{name: resource.MustParse(quantity)}
	}
}

func withSysctl(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: name, Value: "1"}}}
	}
}

// smallNode offers 2 CPUs and 3 Pods.
func smallNode(change ...func(*corev1.Node)) *corev1.Node {
	return testNode(func(n *corev1.Node) {
		n.Labels = map[string]string{"disk": "slow"}
		n.Status.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi"), corev1.ResourcePods: resource.MustParse("3"),
		}
		for _, c := range change {
			c(n)
		}
	})
}

func TestNodeRejectsPodsThatDoNotFit(t *testing.T) {
	taint := func(effect corev1.TaintEffect) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: effect}} }
	}
	for name, c := range map[string]struct {
		node   *corev1.Node
		others int // of half a CPU each
		change func(*corev1.Pod)
		want   string
	}{
		"fits":                   {smallNode(), 2, withRequest(corev1.ResourceCPU, "1"), ""},
		"too much CPU":           {smallNode(), 0, withRequest(corev1.ResourceCPU, "3"), "OutOfcpu: Node didn't have enough resource: cpu, requested: 3000, used: 0, capacity: 2000"},
		"CPU beside others":      {smallNode(), 2, withRequest(corev1.ResourceCPU, "1100m"), "OutOfcpu: Node didn't have enough resource: cpu, requested: 1100, used: 1000, capacity: 2000"},
		"too much memory":        {smallNode(), 0, withRequest(corev1.ResourceMemory, "2Gi"), "OutOfmemory: Node didn't have enough resource: memory, requested: 2147483648, used: 0, capacity: 1073741824"},
		"too many pods":          {smallNode(), 3, nil, "OutOfpods: Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3"},
		"extended, not known":    {smallNode(), 0, withRequest("example.com/gpu", "1"), ""},
		"extended, of the node":  {smallNode(func(n *corev1.Node) { n.Status.Allocatable["example.com/gpu"] = resource.MustParse("1") }), 0, withRequest("example.com/gpu", "2"), "OutOfexample.com/gpu: Node didn't have enough resource: example.com/gpu, requested: 2, used: 0, capacity: 1"},
		"node selector":          {smallNode(), 0, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "fast"} }, "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"},
		"NoExecute taint":        {smallNode(taint(corev1.TaintEffectNoExecute)), 0, nil, "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"},
		"NoSchedule taint":       {smallNode(taint(corev1.TaintEffectNoSchedule)), 0, nil, ""},
		"another system":         {smallNode(), 0, func(p *corev1.Pod) { p.Spec.OS = &corev1.PodOS{Name: corev1.Windows} }, "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS"},
		"safe sysctl":            {smallNode(), 0, withSysctl("net.ipv4.tcp_syncookies"), ""},
		"unsafe sysctl":          {smallNode(), 0, withSysctl("kernel.msgmax"), `SysctlForbidden: forbidden sysctl: "kernel.msgmax" not allowlisted`},
		"sysctl of the host":     {smallNode(), 0, func(p *corev1.Pod) { withSysctl("net.ipv4.tcp_syncookies")(p); p.Spec.HostNetwork = true }, `SysctlForbidden: forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled`},
		"started before":         {smallNode(), 3, func(p *corev1.Pod) { p.Status.StartTime = &p.CreationTimestamp }, ""},
		"nothing said by a node": {testNode(nil), 0, withRequest(corev1.ResourceCPU, "33"), "OutOfcpu: Node didn't have enough resource: cpu, requested: 33000, used: 0, capacity: 32000"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newTestRegistry(t, c.node)
			for i := range c.others {
				pod := testPod(withRequest(corev1.ResourceCPU, "500m"))
				pod.UID = types.UID(rune('a' + i))
				if seen := l.updatePod(pod, false, c.node); seen.rejected != nil || seen.next.name != podStatusNow {
					t.Fatalf("other Pod: %+v", seen)
				}
			}
			pod, got := testPod(c.change), ""
			if seen := l.updatePod(pod, false, nil); (seen.rejected != nil) != (c.want != "") {
				t.Errorf("update by the watched node: %+v", seen)
			}
			l.updatePod(pod, true, c.node)
			if why := l.podRejection(pod.UID); why != nil {
				got = why.reason + ": " + why.message
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			l.deletePod(pod.UID)
			if n := l.loadOf("node-1").pods; n != c.others {
				t.Errorf("%d Pods on the node, want %d", n, c.others)
			}
		})
	}
}

// The current Node may accept a Pod that the Node as the watch knows it rejects.
func TestAdmissionUsesFreshNode(t *testing.T) {
	l := newTestRegistry(t, smallNode())
	pod := testPod(func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "fast"} })
	if seen := l.updatePod(pod, false, nil); seen.rejected == nil || seen.next.name != "" {
		t.Fatalf("by the watched node: %+v", seen)
	}
	fast := smallNode(func(n *corev1.Node) { n.Labels["disk"] = "fast" })
	if seen := l.updatePod(pod, true, fast); seen.rejected != nil || seen.next.name != podStatusNow || l.podRejection(pod.UID) != nil {
		t.Errorf("by the current node: %+v", seen)
	}
}

// A resize that does not fit is deferred until another Pod is deleted.
func TestResizeIsDeferredUntilItFits(t *testing.T) {
	node := smallNode()
	l := newTestRegistry(t, node)
	other := testPod(withRequest(corev1.ResourceCPU, "1"))
	other.UID = "other"
	l.updatePod(other, false, node)
	pod := testPod(withRequest(corev1.ResourceCPU, "500m"))
	step := func() (string, string) {
		t.Helper()
		if seen := l.updatePod(pod, false, node); seen.next.name == "" {
			t.Fatalf("nothing is due: %+v", seen)
		}
		due, at, err := l.duePod(pod.UID)
		if err != nil {
			t.Fatal(err)
		}
		pod.Status, _ = podStatus(due, at, epoch)
		pending := ""
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodResizePending {
				pending = c.Reason + ": " + c.Message
			}
		}
		return pod.Status.ContainerStatuses[0].AllocatedResources.Cpu().String(), pending
	}
	check := func(what, cpu, pending string) {
		t.Helper()
		gotCPU, gotPending := step()
		if diff := cmp.Diff([]string{cpu, pending}, []string{gotCPU, gotPending}); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	check("start", "500m", "")
	pod.Generation++
	withRequest(corev1.ResourceCPU, "1500m")(pod)
	waits := "Deferred: Node didn't have enough resource: cpu, requested: 1500, used: 1000, capacity: 2000"
	check("more than is free", "500m", waits)
	if what := l.updatePod(pod, false, node).next; what != (dueStage{name: podStatusLater, at: epoch.Add(resizeRetryInterval)}) {
		t.Errorf("due for a Pod with a deferred resize: %+v", what)
	}
	for range 3 { // it is retried until it fits
		if _, patch, later, err := l.podPatch(pod.UID); len(patch) > 0 || err != nil || !later.Equal(epoch.Add(resizeRetryInterval)) {
			t.Errorf("a retry that does not fit: patch %s, again at %v, %v", patch, later, err)
		}
	}
	l.deletePod("other")
	check("after the other Pod was deleted", "1500m", "")
	pod.Generation++
	withRequest(corev1.ResourceCPU, "100m")(pod)
	check("less", "100m", "")
	if got := l.loadOf("node-1").requested.MilliCPU; got != 100 {
		t.Errorf("the load of the node is %dm", got)
	}
}

// What is wrong with the annotations of a Pod is reported once after each change.
func TestAnnotationErrorIsReportedOnce(t *testing.T) {
	l := newTestRegistry(t, testNode(nil))
	l.checkPod = func(p *corev1.Pod) error {
		if p.Annotations["usage"] == "bad" {
			return errors.New("usage is bad")
		}
		return nil
	}
	pod := testPod(nil)
	for i, c := range []struct{ usage, exit, want string }{
		{"", "", ""},
		{"bad", "", "usage is bad"},
		{"bad", "", ""},
		{"bad", "x", `annotation ctrlplane.local/exit-code: "x" is not an exit code: write a number from 0 to 255; usage is bad`},
		{"good", "1", ""},
		{"bad", "1", "usage is bad"},
	} {
		pod.Annotations = map[string]string{"usage": c.usage}
		if c.exit != "" {
			pod.Annotations[annotations.ExitCode] = c.exit
		}
		got := ""
		if err := l.updatePod(pod, false, nil).annotationError; err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
}
