package e2e_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/snapshot/objects"
)

// createSnapshotNamespace starts each of the tests. It does not delete the namespace,
// since a restore may have done so.
func createSnapshotNamespace(t *testing.T) string {
	t.Helper()
	if os.Getenv(snapshotEnv) == "" {
		t.Skip("run by TestSnapshots in a process of its own")
	}
	ns := createObject(t, controlPlane.client.CoreV1().Namespaces(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: uniqueName("ns")}})
	await(t, "default service account", getByName(controlPlane.client.CoreV1().ServiceAccounts(ns.Name), "default"), anyState)
	await(t, "root CA", getByName(controlPlane.client.CoreV1().ConfigMaps(ns.Name), "kube-root-ca.crt"), anyState)
	return ns.Name
}

// saveSnapshot saves a snapshot over HTTP, as the command line does.
func saveSnapshot(t *testing.T) []byte {
	t.Helper()
	file, err := newRemoteClient(t).Snapshots().Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func restoreSnapshot(t *testing.T, file []byte) {
	t.Helper()
	done, err := newRemoteClient(t).Snapshots().Restore(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("restored: %+v", done)
}

func decodeSnapshot(t *testing.T, file []byte) snapshot.State {
	t.Helper()
	_, s, err := snapshot.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func currentState(t *testing.T) snapshot.State { return decodeSnapshot(t, saveSnapshot(t)) }

// requireSameState checks that the state is the saved one.
func requireSameState(t *testing.T, saved []byte, when string) {
	t.Helper()
	for _, d := range objects.Diff(decodeSnapshot(t, saved), currentState(t), false) {
		text, err := d.UnifiedDiff("saved", when)
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s: %s %s:\n%s", when, d, d.Change, text)
	}
}

// awaitSteadyState returns when the state has not changed for a while.
func awaitSteadyState(t *testing.T) {
	t.Helper()
	const quiet = 1500 * time.Millisecond
	awaitSettled(t, controlPlane.server.Observer()) // on a busy machine what has begun may change nothing for a while
	defer awaitSettled(t, controlPlane.server.Observer())
	before, since := currentState(t), time.Now()
	await(t, "quiet state", func(context.Context) (time.Duration, error) {
		after := currentState(t)
		if len(objects.Diff(before, after, false)) > 0 {
			since = time.Now()
		}
		before = after
		return time.Since(since), nil
	}, func(same time.Duration) bool { return same > quiet })
}

// sampleObjects are objects of many kinds.
type sampleObjects struct {
	ns  string
	gvr schema.GroupVersionResource
	crd *apiextensionsv1.CustomResourceDefinition
}

func createSampleObjects(t *testing.T) *sampleObjects {
	t.Helper()
	w := &sampleObjects{ns: createSnapshotNamespace(t), crd: widgetCRD(uniqueName("world"))}
	w.gvr = createCRD(t, w.crd)
	createObject(t, deployments(w.ns), newDeployment("registry.invalid/app:1"))
	service := newService("web")
	service.Spec.Type = corev1.ServiceTypeLoadBalancer
	createObject(t, controlPlane.client.CoreV1().Services(w.ns), service)
	createObject(t, controlPlane.client.CoreV1().PersistentVolumeClaims(w.ns), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	})
	user := newPod("user", nil)
	user.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	createObject(t, pods(w.ns), user)
	createObject(t, controlPlane.client.BatchV1().Jobs(w.ns), w.newJob("done", "1"))
	createObject(t, controlPlane.client.BatchV1().Jobs(w.ns), w.newJob("unfinished", ""))
	for i := range 5 {
		createObject(t, customClient{controlPlane.dynamic.Resource(w.gvr).Namespace(w.ns)}, newWidget(w.gvr, fmt.Sprintf("w-%d", i), 3))
	}
	awaitRunning(t, w.ns, "app=web", 3)
	await(t, "Job", getByName(controlPlane.client.BatchV1().Jobs(w.ns), "done"), func(j *batchv1.Job) bool { return j.Status.CompletionTime != nil })
	await(t, "address", getByName(controlPlane.client.CoreV1().Services(w.ns), "web"), func(s *corev1.Service) bool { return len(s.Status.LoadBalancer.Ingress) > 0 })
	await(t, "Pod with a volume", getByName(pods(w.ns), "user"), func(p *corev1.Pod) bool { return isRunning(*p) })
	return w
}

func (w *sampleObjects) newJob(name, runFor string) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{Template: podTemplate(nil)}}
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	if runFor != "" {
		j.Spec.Template.Annotations = map[string]string{"ctrlplane.local/run-for": runFor + "s"}
	} else {
		j.Spec.Template.Annotations = map[string]string{"ctrlplane.local/run-for": "10h"}
	}
	return j
}

// saveWhenSteady saves a snapshot once the state is steady.
func (w *sampleObjects) saveWhenSteady(t *testing.T) []byte {
	t.Helper()
	awaitSteadyState(t)
	return saveSnapshot(t)
}

// changeEverything changes or deletes all objects and replaces some by others with
// the same names.
func (w *sampleObjects) changeEverything(t *testing.T) {
	t.Helper()
	deleteObject(t, deployments(w.ns), "web", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)})
	awaitGone(t, "Deployment", getByName(deployments(w.ns), "web"))
	d := newDeployment("registry.invalid/app:2")
	d.Spec.Replicas = new(int32(5))
	createObject(t, deployments(w.ns), d)
	deleteObject(t, controlPlane.client.CoreV1().Services(w.ns), "web")
	deleteObject(t, pods(w.ns), "user")
	deleteObject(t, controlPlane.client.CoreV1().PersistentVolumeClaims(w.ns), "data")
	deleteObject(t, controlPlane.client.BatchV1().Jobs(w.ns), "done")
	deleteObject(t, controlPlane.client.BatchV1().Jobs(w.ns), "unfinished")
	other := newService("other")
	other.Spec.Type = corev1.ServiceTypeLoadBalancer
	createObject(t, controlPlane.client.CoreV1().Services(w.ns), other)
	crds := controlPlane.extensions.ApiextensionsV1().CustomResourceDefinitions()
	deleteObject(t, crds, w.crd.Name)
	awaitGone(t, "definition", getByName(crds, w.crd.Name))
	another := widgetCRD(uniqueName("other"))
	gvr := createCRD(t, another)
	createObject(t, customClient{controlPlane.dynamic.Resource(gvr).Namespace(w.ns)}, newWidget(gvr, "of-another-kind", 1))
	deleteObject(t, controlPlane.client.CoreV1().Nodes(), "node-3")
	createSnapshotNamespace(t)
	deleteObject(t, controlPlane.client.CoreV1().Namespaces(), createSnapshotNamespace(t)) // its deletion may take a while
}

// startLoad keeps controllers busy until it is stopped.
func (w *sampleObjects) startLoad(t *testing.T) (stop func()) {
	t.Helper()
	ns := createSnapshotNamespace(t)
	ctx, cancel := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	for i := range 4 {
		workers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				d := newDeployment("registry.invalid/load:1")
				d.Name = fmt.Sprintf("load-%d-%d", i, n%5)
				d.Spec.Selector, d.Spec.Template.Labels = labelSelector(map[string]string{"app": d.Name}), map[string]string{"app": d.Name}
				_, err := deployments(ns).Create(ctx, d, metav1.CreateOptions{})
				if err == nil && n >= 5 {
					err = deployments(ns).Delete(ctx, fmt.Sprintf("load-%d-%d", i, (n+1)%5), metav1.DeleteOptions{})
				}
				if isUnexpected(err) && ctx.Err() == nil {
					t.Errorf("load: %v", err)
				}
			}
		})
	}
	await(t, "Pods of the load", listPods(ns), func(l []corev1.Pod) bool { return len(l) > 10 })
	return func() {
		cancel()
		workers.Wait()
	}
}

// isUnexpected reports whether an error has another cause than the deletion of the namespace.
func isUnexpected(err error) bool {
	return err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) &&
		!apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "rate limiter")
}
