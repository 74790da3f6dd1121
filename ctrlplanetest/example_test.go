package ctrlplanetest_test

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/ctrlplanetest"
	"github.com/ctrlplane/ctrlplane/observe"
)

// newExampleT returns what stands in for the *testing.T of a test.
func newExampleT() *recorder {
	t := newRecorder("Example")
	t.echo = true
	return t
}

func Example() {
	t := newExampleT()
	defer t.endTest()
	cp := ctrlplanetest.Shared(t) // TestMain calls ctrlplanetest.Main
	namespace := cp.Namespace(t)
	web := cp.Apply(t, "testdata/web.yaml")
	cp.WaitHealthy(t, web...)

	d, err := cp.Client().AppsV1().Deployments(namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(d.Status.ReadyReplicas, "Pods are ready")
	// Output: 2 Pods are ready
}

func ExampleStart() {
	t := newExampleT()
	defer t.endTest()
	cp := ctrlplanetest.Start(t, ctrlplanetest.Options{Nodes: 3}) // stopped when the test ends
	nodes, err := cp.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes.Items {
		fmt.Println(n.Name)
	}
	// Output:
	// node-1
	// node-2
	// node-3
}

func ExampleControlPlane_Records() {
	t := newExampleT()
	defer t.endTest()
	cp := ctrlplanetest.Shared(t)
	namespace := cp.Namespace(t)
	cp.WaitHealthy(t, cp.Apply(t, "testdata/web.yaml")...)
	for _, r := range cp.Records(t, namespace) {
		if call, ok := r.Event.(*observe.Called); ok && call.Controller == "deployment-controller" && call.Verb == "create" && !call.IsRoutine() && !call.IsFailure() {
			fmt.Println(call.Controller, "created a", call.Object.Kind)
		}
	}
	// Output: deployment-controller created a ReplicaSet
}

func ExampleControlPlane_ObjectsByName() {
	t := newExampleT()
	defer t.endTest()
	cp := ctrlplanetest.Shared(t)
	cp.Namespace(t)
	cp.Apply(t, "testdata/web.yaml")
	web := cp.ObjectsByName(t, "deploy/web", "svc/web")
	cp.WaitHealthy(t, web...)
	fmt.Println(strings.HasPrefix(web[0].GetNamespace(), "example-"))
	// Output: true
}

func ExampleControlPlane_WaitSettled() {
	t := newExampleT()
	defer t.endTest()
	cp := ctrlplanetest.Shared(t)
	cp.Namespace(t)
	cp.Apply(t, "testdata/web.yaml")
	cp.WaitSettled(t)
	cp.WaitHealthy(t, cp.ObjectsByName(t, "deploy/web")...) // returns at once
	fmt.Println("rolled out")
	// Output: rolled out
}

func ExampleControlPlane_Control() {
	t := newExampleT()
	defer t.endTest()
	cp := ctrlplanetest.Start(t)
	interventions := cp.Control().Interventions()
	if _, err := interventions.Pause(t.Context(), []string{"deployment"}); err != nil {
		t.Fatal(err)
	}
	cp.Apply(t, "testdata/web.yaml")
	stepped, err := interventions.Step(t.Context(), "deployment") // releases the first write of the paused controller
	if err != nil || stepped == nil {                             // nil = no write was held for 20 s
		t.Fatal("no write:", err)
	}
	fmt.Println(stepped.Verb, stepped.Object.Kind)
	// Output: create ReplicaSet
}

func ExampleControlPlane_Restore() {
	t := newExampleT()
	defer t.endTest()
	cp := ctrlplanetest.Start(t)
	saved := cp.Snapshot(t)
	widgets := cp.Apply(t, "testdata/widgets.yaml")
	cp.Restore(t, saved)
	cp.WaitGone(t, widgets...) // returns at once
	fmt.Println("restored")
	// Output: restored
}
