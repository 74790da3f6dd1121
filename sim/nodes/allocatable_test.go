package nodes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

const dongle = corev1.ResourceName("example.com/dongle")

// TestAllocatableFollowsCapacity changes the resources of a node as the Kubernetes task "Advertise Extended
// Resources for a Node" does.
func TestAllocatableFollowsCapacity(t *testing.T) {
	node := testNode(nil)
	l := newTestRegistry(t, node)
	for _, step := range []struct {
		name                  string
		capacity, allocatable string // that a client sets; empty = removes
		want                  string // allocatable
	}{
		{"nothing", "", "", ""},
		{"added", "4", "", "4"},
		{"nothing changes", "4", "4", "4"},
		{"more", "8", "4", "8"},
		{"less", "2", "8", "2"},
		{"one fails", "2", "1", "1"},
		{"nothing else changes", "2", "1", "1"},
		{"both", "6", "5", "5"},
		{"removed", "", "5", ""},
		{"allocatable alone", "", "5", ""},
	} {
		client := node.DeepCopy()
		setResource(client.Status.Capacity, step.capacity)
		setResource(client.Status.Allocatable, step.allocatable)
		l.updateNode(client)
		seen, addr, err := l.liveNode(node.Name)
		if err != nil {
			t.Fatal(err)
		}
		node = client.DeepCopy()
		node.Status, _ = l.shape.nodeStatus(seen, addr, epoch)
		l.updateNode(node)
		got := ""
		if n, ok := node.Status.Allocatable[dongle]; ok {
			got = n.String()
		}
		if got != step.want {
			t.Errorf("%s: %q is allocatable, want %q", step.name, got, step.want)
		}
		if cpu := node.Status.Allocatable.Cpu().String(); cpu != "32" {
			t.Errorf("%s: %s CPUs are allocatable", step.name, cpu)
		}
	}
	if _, ok := l.shape.capacity[dongle]; ok {
		t.Error("the capacity of all nodes has changed")
	}
}

// TestCapacityOfAFailedNode changes the capacity of a node while it has failed: its kubelet writes what is
// allocatable when the node is back, after other updates of the Node.
func TestCapacityOfAFailedNode(t *testing.T) {
	node := testNode(func(n *corev1.Node) {
		n.Annotations[annotations.Failed] = annotations.True
		n.Status.Capacity = corev1.ResourceList{dongle: resource.MustParse("4")}
		n.Status.Allocatable = corev1.ResourceList{dongle: resource.MustParse("4")}
	})
	l := newTestRegistry(t, node)
	update := func(change func(*corev1.Node)) {
		node = node.DeepCopy()
		change(node)
		l.updateNode(node)
	}
	update(func(n *corev1.Node) { setResource(n.Status.Capacity, "8") })
	update(func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}} })
	update(func(n *corev1.Node) { delete(n.Annotations, annotations.Failed) })
	write := func(want string) {
		t.Helper()
		seen, addr, err := l.liveNode(node.Name)
		if err != nil {
			t.Fatal(err)
		}
		update(func(n *corev1.Node) { n.Status, _ = l.shape.nodeStatus(seen, addr, epoch) })
		if n := node.Status.Allocatable[dongle]; n.String() != want {
			t.Errorf("%s is allocatable, want %s", n.String(), want)
		}
	}
	write("8")
	update(func(n *corev1.Node) { setResource(n.Status.Allocatable, "7") }) // a device fails
	write("7")
}

func setResource(list corev1.ResourceList, n string) {
	switch {
	case n != "":
		list[dongle] = resource.MustParse(n)
	case list != nil:
		delete(list, dongle)
	}
}

// TestNodeKeepsResourcesOfItsCreator: a node may have reserved some, or list one kind alone.
func TestNodeKeepsResourcesOfItsCreator(t *testing.T) {
	l := newTestRegistry(t, testNode(nil))
	list := func(cpu, n string) corev1.ResourceList {
		list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
		setResource(list, n)
		return list
	}
	for name, c := range map[string]struct {
		capacity, allocatable         corev1.ResourceList
		wantCapacity, wantAllocatable corev1.ResourceList
	}{
		"reserved":         {list("8", "4"), list("6", "3"), list("8", "4"), list("6", "3")},
		"capacity alone":   {list("8", "4"), nil, list("8", "4"), list("8", "4")},
		"allocatable only": {nil, list("6", "3"), list("32", "3"), list("6", "3")},
	} {
		st := corev1.NodeStatus{Capacity: c.capacity, Allocatable: c.allocatable}
		l.shape.setResources(&st)
		kept := func(list corev1.ResourceList) corev1.ResourceList {
			return corev1.ResourceList{corev1.ResourceCPU: list[corev1.ResourceCPU], dongle: list[dongle]}
		}
		if diff := cmp.Diff(c.wantCapacity, kept(st.Capacity)); diff != "" {
			t.Errorf("%s: capacity (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.wantAllocatable, kept(st.Allocatable)); diff != "" {
			t.Errorf("%s: allocatable (-want +got):\n%s", name, diff)
		}
		again := *st.DeepCopy()
		if l.shape.setResources(&again); cmp.Diff(st, again) != "" {
			t.Errorf("%s: changed again: %s", name, cmp.Diff(st, again))
		}
	}
}
