package ctrlplanetest_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/ctrlplane/ctrlplane/ctrlplanetest"
	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// withShortTimeout calls test, which returns the texts that are missing, with a control plane for waits
// that time out. The short timeout bounds what has to succeed before, too: while texts are missing, as on a
// slow machine, there is another control plane with twice the timeout.
func withShortTimeout(t *testing.T, o ctrlplanetest.Options, test func(*ctrlplanetest.ControlPlane, time.Duration) (missing string)) {
	t.Helper()
	for o.Timeout = 4 * time.Second; ; o.Timeout *= 2 {
		missing := withOwnControlPlane(t, o, func(cp *ctrlplanetest.ControlPlane) string { return test(cp, o.Timeout) })
		if missing == "" || t.Failed() {
			return
		}
		if o.Timeout > 30*time.Second {
			t.Fatal(missing)
		}
	}
}

// withOwnControlPlane calls test with a control plane that it stops at the end. It does so without a level of
// subtests, which -run would have to name.
func withOwnControlPlane(t *testing.T, o ctrlplanetest.Options, test func(*ctrlplanetest.ControlPlane) string) string {
	t.Helper()
	r := newRecorder(t.Name())
	defer func() {
		if r.endTest(); r.Failed() {
			t.Error(r.logged())
		}
	}()
	var cp *ctrlplanetest.ControlPlane
	if r.runPart(func() { cp = ctrlplanetest.Start(r, o) }); cp == nil {
		t.FailNow()
	}
	return test(cp)
}

// TestFailureMessages runs failing tests, most of which wait for the timeout, on one control plane.
func TestFailureMessages(t *testing.T) {
	options := ctrlplanetest.Options{Manifests: []string{"testdata/widgets.yaml"}, ExcludeStart: true}
	var mu sync.Mutex
	missing := map[string]string{} // by the name of each test that has run
	withShortTimeout(t, options, func(cp *ctrlplanetest.ControlPlane, timeout time.Duration) string {
		passed := maps.Clone(missing)
		maps.DeleteFunc(passed, func(_, text string) bool { return text != "" })
		t.Run(timeout.String(), func(t *testing.T) {
			for _, tc := range failingTests(t, cp, timeout) {
				if _, ok := passed[tc.name]; ok {
					continue
				}
				t.Run(tc.name, func(t *testing.T) {
					t.Parallel()
					r := newRecorder(tc.name)
					r.runTest(tc.test)
					text := r.missingTexts(t, tc.want...)
					mu.Lock()
					defer mu.Unlock()
					missing[tc.name] = text
				})
			}
		})
		return strings.Join(slices.Collect(maps.Values(missing)), "")
	})
}

// failingTest is a test that fails, with texts that it logs.
type failingTest struct {
	name string
	test func(testing.TB)
	want []string
}

func failingTests(t *testing.T, cp *ctrlplanetest.ControlPlane, timeout time.Duration) []failingTest {
	return []failingTest{
		{"too big a Pod", func(tb testing.TB) {
			namespace := cp.Namespace(tb)
			pod := newPod("big")
			pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000")}
			pod, err := cp.Client().CoreV1().Pods(namespace).Create(tb.Context(), pod, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			testutil.Await(t, "the Pod is unschedulable", func() bool { return isUnschedulable(t, cp.Client(), pod) })
			cp.WaitHealthy(tb, pod)
		}, []string{"1 of 1 object not healthy: Pod too-big-a-pod-", "Insufficient cpu", "timed out after " + timeout.String()}},
		{"a quota", func(tb testing.TB) {
			namespace := cp.Namespace(tb)
			createZeroPodQuota(t, cp.Client(), namespace)
			web := cp.Apply(tb, "testdata/web.yaml")
			testutil.Await(t, "two Pods were refused", func() bool { return countRefusedPods(cp.Records(tb, namespace)) >= 2 })
			cp.WaitHealthy(tb, web...)
		}, []string{
			"exceeded quota: none",
			"what controllers did in namespace a-quota-",
			"created ReplicaSet web-",
			"could not create Pod: 403 pods \"web-",
			" times in ",
			"not healthy in namespace a-quota-",
			"Deployment a-quota-",
		}},
		{"not gone", func(tb testing.TB) { cp.WaitGone(tb, cp.ObjectsByName(tb, "ns/default")...) }, []string{"1 of 1 object not gone: Namespace default", "its deletion was not requested"}},
		{"an assertion", func(tb testing.TB) {
			cp.Assert(tb, assert.Rules{NoHotLoop: true, Conflicts: []assert.Limit{{Of: "deployment", Most: 1000}}, FailedSyncs: []assert.Limit{{Of: "nosuch"}}})
		}, []string{`--max-failed-syncs nosuch=0: unknown controller or client "nosuch"`}},
		{"not settled", func(tb testing.TB) {
			holdJob(tb, cp, cp.Namespace(tb))
			cp.WaitSettled(tb)
		}, []string{"not settled: "}},
		{"a finalizer", func(tb testing.TB) {
			createWidget(t, cp, cp.Namespace(tb), "w", "example.com/stay")
		}, []string{
			"ctrlplanetest: namespace a-finalizer-",
			" is not deleted: timed out after " + timeout.String() + "\n",
			"Widget w: being deleted; waiting for finalizer",
			"example.com/stay",
			"does the controller that removes the finalizers run until the namespace is deleted?",
			"what controllers did in namespace a-finalizer-",
		}},
		{"no such kind", func(tb testing.TB) { cp.ObjectsByName(tb, "gadget/g") }, []string{"unknown kind gadget"}},
		{"no name", func(tb testing.TB) { cp.WaitHealthy(tb, &corev1.Pod{}) }, []string{"a Pod has no name"}},
		{"unknown type", func(tb testing.TB) { cp.WaitHealthy(tb, &unknownObject{}) }, []string{"set Options.Scheme, or its apiVersion and kind"}},
		{"no such file", func(tb testing.TB) { cp.Apply(tb, "testdata/none.yaml") }, []string{"testdata/none.yaml"}},
		{"refused manifest", func(tb testing.TB) { cp.Apply(tb, "testdata/bad.yaml") }, []string{"testdata/bad.yaml", `spec.replicaz`}},
	}
}

// TestAssertLimitsNeedTheStartExcluded has a control plane that counts its start, too.
func TestAssertLimitsNeedTheStartExcluded(t *testing.T) {
	cp := ctrlplanetest.Shared(t)
	r := newRecorder("limits")
	r.runTest(func(tb testing.TB) { cp.Assert(tb, assert.Rules{Conflicts: []assert.Limit{{Most: 1000}}}) })
	if !r.failed || !strings.Contains(r.logged(), "set Options.ExcludeStart") {
		t.Errorf("failed: %v, %s", r.failed, r.logged())
	}
}

// unknownObject has a type that client-go's scheme does not contain.
type unknownObject struct{ corev1.Pod }

func (*unknownObject) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

func isUnschedulable(t *testing.T, client kubernetes.Interface, pod *corev1.Pod) bool {
	t.Helper()
	now, err := client.CoreV1().Pods(pod.Namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(now.Status.Conditions, func(c corev1.PodCondition) bool { return c.Reason == corev1.PodReasonUnschedulable })
}

func countRefusedPods(records []observe.Record) (n int) {
	for _, r := range records {
		if c, ok := r.Event.(*observe.Called); ok && c.Verb == "create" && c.Object.Resource == "pods" && c.Controller == "replicaset-controller" && c.IsFailure() {
			n++
		}
	}
	return n
}

// createZeroPodQuota creates a quota and returns when it is in force.
func createZeroPodQuota(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	_, err := client.CoreV1().ResourceQuotas(namespace).Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	testutil.Await(t, "the quota is in force", func() bool {
		_, err := client.CoreV1().Pods(namespace).Create(t.Context(), newPod("refused"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "exceeded quota")
	})
}

// holdJob pauses job-controller until the test ends, and creates a Job; it returns when a write for that is held.
func holdJob(t testing.TB, cp *ctrlplanetest.ControlPlane, namespace string) {
	interventions, name := cp.Control().Interventions(), "job-controller"
	if _, err := interventions.Pause(t.Context(), []string{name}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := interventions.Resume(context.Background(), []string{name}); err != nil {
			t.Error(err)
		}
	})
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "held"}}
	job.Spec.Template.Spec = newPod("").Spec
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	if _, err := cp.Client().BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	testutil.Await(t, "held write", func() bool {
		held, err := interventions.HeldWrites(t.Context(), name, 1)
		return err == nil && held.Total > 0
	})
}

// TestWaitSettled checks that a settled control plane has finished its work.
func TestWaitSettled(t *testing.T) {
	cp := ctrlplanetest.Shared(t)
	namespace := cp.Namespace(t)
	cp.Apply(t, "testdata/web.yaml")
	cp.WaitSettled(t)
	d, err := cp.Client().AppsV1().Deployments(namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || d.Status.ReadyReplicas != 2 {
		t.Errorf("settled with %d Pods ready, %v", d.Status.ReadyReplicas, err)
	}
	zero := int64(0)
	if err := cp.Client().AppsV1().Deployments(namespace).Delete(t.Context(), "web", metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		t.Fatal(err)
	}
	cp.WaitGone(t, d)
}

// TestRecordsOfOneNamespace checks that records are filtered by namespace.
func TestRecordsOfOneNamespace(t *testing.T) {
	cp := ctrlplanetest.Shared(t)
	var namespaces [2]string
	for i := range namespaces {
		t.Run("apply", func(t *testing.T) {
			namespaces[i] = cp.Namespace(t)
			cp.WaitHealthy(t, cp.Apply(t, "testdata/web.yaml")...)
			pods := map[string]bool{}
			for _, r := range cp.Records(t, namespaces[i]) {
				c, ok := r.Event.(*observe.Called)
				if !ok || c.Controller != "replicaset-controller" || c.Verb != "create" || c.Object.Resource != "pods" {
					continue
				}
				if c.Object.Namespace != namespaces[i] {
					t.Errorf("%v is in namespace %s", c.Object, c.Object.Namespace)
				}
				pods[c.Object.Name] = true
			}
			if len(pods) != 2 {
				t.Errorf("replicaset-controller created Pods %v, want 2", pods)
			}
		})
	}
	if all := cp.Records(t, ""); len(all) <= len(cp.Records(t, namespaces[0])) {
		t.Errorf("%d records of all namespaces, want more than of one", len(all))
	}
}
