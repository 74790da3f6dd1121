package ctrlplanetest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/ctrlplanetest"
	"github.com/ctrlplane/ctrlplane/observe"
)

func createConfigMap(t *testing.T, cp *ctrlplanetest.ControlPlane, name string) {
	t.Helper()
	_, err := cp.Client().CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// configMapExists reports whether a ConfigMap exists.
func configMapExists(t *testing.T, cp *ctrlplanetest.ControlPlane, name string) bool {
	t.Helper()
	_, err := cp.Client().CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

func TestSnapshotAndRestore(t *testing.T) {
	cp := ctrlplanetest.Shared(t)
	cp.Isolate(t)
	createConfigMap(t, cp, "before")
	saved := cp.Snapshot(t)
	createConfigMap(t, cp, "after")
	pod, err := cp.Client().CoreV1().Pods("default").Create(t.Context(), newPod("p"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cp.WaitHealthy(t, pod)
	cp.Restore(t, saved)
	if !configMapExists(t, cp, "before") || configMapExists(t, cp, "after") {
		t.Error("the restored state differs from the saved one")
	}
	cp.WaitGone(t, pod)
	cp.Namespace(t) // needs running controllers

	r := newRecorder("TestRestored")
	r.runTest(func(tb testing.TB) { cp.Restore(tb, ctrlplanetest.Snapshot{}) })
	if !r.failed || !strings.Contains(r.logged(), "ctrlplanetest: restore: ") {
		t.Errorf("restore of an empty snapshot: %s", r.logged())
	}
}

// TestIsolateRevertsChanges runs tests that leave objects behind.
func TestIsolateRevertsChanges(t *testing.T) {
	cp := ctrlplanetest.Shared(t)
	for range 2 {
		t.Run("litter", func(t *testing.T) {
			cp.Isolate(t)
			createConfigMap(t, cp, "litter")
		})
		if configMapExists(t, cp, "litter") {
			t.Fatal("the ConfigMap still exists")
		}
	}
	t.Run("refused in parallel", func(t *testing.T) {
		cp.Isolate(t)
		defer func() {
			if recover() == nil {
				t.Error("the test became parallel")
			}
		}()
		t.Parallel()
	})
}

// TestIsolateClearsInterventions runs a test that leaves interventions behind.
func TestIsolateClearsInterventions(t *testing.T) {
	cp := ctrlplanetest.Start(t)
	controllers, clients := cp.Control().Interventions(), cp.Control().ClientInterventions()
	fault := control.Fault{Rate: 1, Code: "409", Verb: "update"}
	t.Run("interventions", func(t *testing.T) {
		cp.Isolate(t)
		createConfigMap(t, cp, "litter")
		_, paused := controllers.Pause(t.Context(), []string{"deployment"})
		_, failing := controllers.Fail(t.Context(), []string{"replicaset"}, fault)
		_, stopped := controllers.Stop(t.Context(), []string{"job"})
		_, client := clients.Fail(t.Context(), []string{"ctrlplanetest"}, fault)
		speed := cp.Control().SpeedControl().SetSpeed(t.Context(), observe.SpeedHalf)
		if err := errors.Join(paused, failing, stopped, client, speed); err != nil {
			t.Fatal(err)
		}
	})
	if configMapExists(t, cp, "litter") {
		t.Error("the ConfigMap still exists")
	}
	now, err := cp.Source().Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if now.Process.Speed != observe.SpeedFull {
		t.Errorf("the speed is %q", now.Process.Speed)
	}
	list, err := cp.Control().Controllers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if slices.Contains([]string{"deployment-controller", "replicaset-controller", "job-controller"}, c.Name) && (c.State != observe.StateRunning || c.Reason != "") {
			t.Errorf("%s is %s: %s", c.Name, c.State, c.Reason)
		}
	}
	cleared, err := clients.Clear(t.Context(), []string{"ctrlplanetest"})
	if err != nil || len(cleared) > 0 {
		t.Errorf("the faults of %q were left, %v", cleared, err)
	}
}

// TestFailureNamesInterventions runs tests that fail because of a pause of theirs, in a
// namespace of their own.
func TestFailureNamesInterventions(t *testing.T) {
	withShortTimeout(t, ctrlplanetest.Options{}, func(cp *ctrlplanetest.ControlPlane, _ time.Duration) string {
		r := newRecorder(t.Name())
		r.runTest(func(tb testing.TB) {
			cp.Namespace(tb)
			cp.Isolate(tb)
			if _, err := cp.Control().Interventions().Pause(tb.Context(), []string{"deployment"}); err != nil {
				tb.Fatal(err)
			}
			cp.WaitHealthy(tb, cp.Apply(tb, "testdata/web.yaml")...)
		})
		if n := strings.Count(r.logged(), "what controllers did"); n > 1 {
			t.Errorf("the failure is explained %d times:\n%s", n, r.logged())
		}
		return r.missingTexts(t, "what controllers did", "interventions in effect", "deployment-controller is paused: its writes are held")
	})
}

// parallelTest refuses the environment as package testing does.
type parallelTest struct{ testing.TB }

func (parallelTest) Setenv(string, string) {
	panic("testing: test using t.Setenv can not use t.Parallel")
}

func TestIsolateRefusesParallelTests(t *testing.T) {
	cp := ctrlplanetest.Shared(t)
	r := newRecorder(t.Name())
	r.runTest(func(tb testing.TB) { cp.Isolate(parallelTest{tb}) })
	if missing := r.missingTexts(t, "Isolate: the test or the one around it is parallel"); missing != "" {
		t.Error(missing)
	}
}
