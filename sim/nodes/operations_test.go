package nodes

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
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
		t.Errorf("nodes changed although a name was wrong: %+v, %v", list, err)
	}
	if err := f.Remove(t.Context(), "node-1", "node-2", "node-1"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string(nil), listNodeNames(t, f)); diff != "" {
		t.Error(diff)
	}
}

// The API server keeps a Node until its finalizers are removed.
func TestFleetRemovesNodesWithFinalizers(t *testing.T) {
	client := fake.NewClientset()
	f := startTestFleet(t, client, Config{Count: 1})
	node, err := client.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node.Finalizers = []string{"example.com/a", "example.com/b"}
	if _, err := client.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	want := "node node-1 is being deleted, but stays until its finalizers are removed: example.com/a, example.com/b"
	if err := f.Remove(t.Context(), "node-1"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	now := metav1.Now()
	node.DeletionTimestamp = &now
	if s := newStatus(node, 0); !s.Deleting {
		t.Errorf("%+v does not say that the node is being deleted", s)
	}
}

// A failed node does nothing for its Pods; it catches up when it recovers.
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
	for range 2 { // the second call changes nothing
		if err := f.Recover(t.Context(), "node-1"); err != nil {
			t.Fatal(err)
		}
	}
	waitForPod(t, client, pod, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
}

// The state of a node is kept in its annotations, where the next fleet finds it.
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
		t.Errorf("recovery of a terminated node: %v", err)
	}
	if list, err = f.List(t.Context()); err != nil || !list[1].Failed {
		t.Errorf("node-2 recovered although node-3 could not: %+v, %v", list, err)
	}
}

// roundTrips is a transport that is a function.
type roundTrips func(*http.Request) (*http.Response, error)

func (f roundTrips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A request for a node that a user has named is the user's: that it does not exist is not an error of a kubelet.
func TestUnknownNodeIsAskedForTheUser(t *testing.T) {
	var asked []string
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://none", Transport: roundTrips(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, fmt.Sprint(r.Method, " ", r.URL.Path, " ", observe.IsForUser(r.Context())))
		return &http.Response{StatusCode: http.StatusNotFound, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	err = (&Fleet{client: client}).Terminate(t.Context(), "node-88")
	if want := []string{"GET /api/v1/nodes/node-88 true"}; err == nil || err.Error() != `node "node-88" does not exist` || !slices.Equal(asked, want) {
		t.Errorf("%v, asked %q", err, asked)
	}
}
