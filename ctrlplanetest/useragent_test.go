package ctrlplanetest_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ctrlplane/ctrlplane/ctrlplanetest"
)

// TestPausedClientIsNotTheHelper pauses the client that all clients of the test binary are by default,
// as an operator in it is, and uses the methods of the package.
func TestPausedClientIsNotTheHelper(t *testing.T) {
	cp := ctrlplanetest.Start(t)
	operator, err := kubernetes.NewForConfig(cp.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operator.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	paused, err := cp.Control().ClientInterventions().Pause(t.Context(), []string{"ctrlplanetest.test"})
	if err != nil || len(paused) != 1 {
		t.Fatalf("paused %q: %v", paused, err)
	}
	var namespace string
	r := newRecorder(t.Name())
	r.runTest(func(tb testing.TB) {
		namespace = cp.Namespace(tb)
		cp.WaitHealthy(tb, cp.Apply(tb, "testdata/web.yaml")...)
		createConfigMap(t, cp, "created")
	})
	if r.failed {
		t.Error(r.logged())
	}
	requireNamespaceGone(t, cp, namespace)
}
