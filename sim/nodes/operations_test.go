package nodes

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

func TestFleetRefusesUnknownNames(t *testing.T) {
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "kubelet"}})
	f := startTestFleet(t, client, Config{Count: 2})
	for what, err := range map[string]error{
		"remove unknown": f.Remove(t.Context(), "node-1", "node-9"),
		"remove kubelet": f.Remove(t.Context(), "kubelet"),
		"fail":           f.Fail(t.Context(), "node-1", "node-9"),
		"terminate":      f.Terminate(t.Context(), "node-2", "kubelet"),
		"no name":        f.Fail(t.Context(), ""),
		"no name at all": f.Remove(t.Context(), "../node-1"),
		"recover":        f.Recover(t.Context(), "kubelet"),
	} {
		if !errors.As(err, new(usage.Error)) {
			t.Errorf("%s: %v, want a usage error", what, err)
		}
	}
	if diff := cmp.Diff([]string{"node-1", "node-2"}, listNodeNames(t, f)); diff != "" {
		t.Error(diff)
	}
	if list, err := f.List(t.Context()); err != nil || list[0].Failed || list[1].Terminated {
		t.Errorf("something was done in spite of a wrong name: %+v, %v", list, err)
	}
	if err := f.Remove(t.Context(), "node-1", "node-2", "node-1"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string(nil), listNodeNames(t, f)); diff != "" {
		t.Error(diff)
	}
}

// A node that has failed does nothing for its pods; when it recovers it catches up.
func TestFleetFailsAndRecovers(t *testing.T) {
	client := fake.NewClientset()
	f := startTestFleet(t, client, Config{Count: 1})
	if err := f.Fail(t.Context(), "node-1"); err != nil {
		t.Fatal(err)
	}
	pod := testPod(nil)
	if _, err := client.CoreV1().Pods("n").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if list, err := f.List(t.Context()); err != nil || !list[0].Failed {
		t.Errorf("List = %+v, %v; want a failed node", list, err)
	}
	for range 2 { // the second time there is nothing to do
		if err := f.Recover(t.Context(), "node-1"); err != nil {
			t.Fatal(err)
		}
	}
	waitForPod(t, client, pod, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
}

// What was done to a node is on the node: another fleet, after a restart, finds it.
func TestFleetKeepsNodeStateOverRestart(t *testing.T) {
	client := fake.NewClientset()
	f := startTestFleet(t, client, Config{Count: 3})
	if err := errors.Join(f.Fail(t.Context(), "node-2"), f.Terminate(t.Context(), "node-3")); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = startTestFleet(t, client, Config{Count: 3})
	list, err := f.List(t.Context())
	if err != nil || len(list) != 3 || list[0].Failed || !list[1].Failed || !list[2].Terminated {
		t.Errorf("after a restart: %+v, %v", list, err)
	}
	if err := f.Recover(t.Context(), "node-2", "node-3"); !errors.As(err, new(usage.Error)) || !strings.Contains(err.Error(), "terminated") {
		t.Errorf("recovery of a node without a machine: %v", err)
	}
	if list, err = f.List(t.Context()); err != nil || !list[1].Failed {
		t.Errorf("node-2 recovered although node-3 could not: %+v, %v", list, err)
	}
}
