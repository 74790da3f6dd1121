package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
)

const revisionAnnotation = "deployment.kubernetes.io/revision"

// newDeployment returns a Deployment with three replicas that never has fewer during
// a rollout.
func newDeployment(image string) *appsv1.Deployment {
	tmpl := podTemplate(webLabels)
	tmpl.Spec.Containers[0].Image = image
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)),
			Selector: labelSelector(webLabels),
			Template: tmpl,
			Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0)),
			}},
		},
	}
}

func deployments(ns string) appsv1client.DeploymentInterface {
	return controlPlane.client.AppsV1().Deployments(ns)
}

// awaitRollout waits until all replicas have the current template.
func awaitRollout(t *testing.T, ns string, replicas int32) *appsv1.Deployment {
	t.Helper()
	return await(t, "complete rollout", getByName(deployments(ns), "web"), func(d *appsv1.Deployment) bool {
		s := d.Status
		return s.ObservedGeneration == d.Generation && s.Replicas == replicas && s.UpdatedReplicas == replicas &&
			s.ReadyReplicas == replicas && s.AvailableReplicas == replicas && s.UnavailableReplicas == 0
	})
}

// awaitReplicaSet waits until the ReplicaSet with an image has the given number of replicas.
func awaitReplicaSet(t *testing.T, ns, image string, replicas int32) appsv1.ReplicaSet {
	t.Helper()
	ofImage := func(rs appsv1.ReplicaSet) bool { return rs.Spec.Template.Spec.Containers[0].Image == image }
	l := await(t, fmt.Sprintf("ReplicaSet of %s with %d replicas", image, replicas), listBySelector(controlPlane.client.AppsV1().ReplicaSets(ns), "app=web"),
		func(l *appsv1.ReplicaSetList) bool {
			i := slices.IndexFunc(l.Items, ofImage)
			return i >= 0 && *l.Items[i].Spec.Replicas == replicas && l.Items[i].Status.Replicas == replicas
		})
	return l.Items[slices.IndexFunc(l.Items, ofImage)]
}

func deploymentCondition(d *appsv1.Deployment, kind appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	return find(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == kind })
}

// markPodsReadyExcept acts as a kubelet that makes new Pods ready unless they have
// the bad image.
func markPodsReadyExcept(t *testing.T, ns, badImage string) {
	t.Helper()
	watchPods(t, ns, func(ctx context.Context, _ watch.EventType, p *corev1.Pod) {
		if p.Status.Phase != corev1.PodPending || p.Spec.Containers[0].Image == badImage || p.DeletionTimestamp != nil {
			return
		}
		p = p.DeepCopy()
		setReady(p)
		p.ResourceVersion = ""
		if _, err := pods(ns).UpdateStatus(ctx, p, metav1.UpdateOptions{}); err != nil && ctx.Err() == nil {
			t.Logf("mark %s ready: %v", p.Name, err) // it may have been deleted
		}
	})
}

func TestDeploymentRolloutAndRollback(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	markPodsReadyExcept(t, ns, "")
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	d := awaitRollout(t, ns, 3)
	if c := deploymentCondition(d, appsv1.DeploymentAvailable); c.Status != corev1.ConditionTrue {
		t.Errorf("Available condition %+v", c)
	}
	await(t, "Progressing condition", getByName(deployments(ns), "web"), func(d *appsv1.Deployment) bool {
		return deploymentCondition(d, appsv1.DeploymentProgressing).Reason == "NewReplicaSetAvailable"
	})
	first := awaitReplicaSet(t, ns, "registry.invalid/app:1", 3)
	requireController(t, &first, "Deployment", "web")
	hash := first.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	for _, p := range awaitPods(t, ns, "app=web", 3) {
		requireController(t, &p, "ReplicaSet", first.Name)
		if got := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; got != hash || hash == "" {
			t.Errorf("pod %s has template hash %q, its ReplicaSet %q", p.Name, got, hash)
		}
	}

	fewest := trackFewestAvailable(t, ns)
	setImage(t, ns, "registry.invalid/app:2")
	second := awaitReplicaSet(t, ns, "registry.invalid/app:2", 3)
	d = awaitRollout(t, ns, 3)
	first = awaitReplicaSet(t, ns, "registry.invalid/app:1", 0)
	if got := []string{first.Annotations[revisionAnnotation], second.Annotations[revisionAnnotation], d.Annotations[revisionAnnotation]}; !slices.Equal(got, []string{"1", "2", "2"}) {
		t.Errorf("revisions of old, new and deployment: %v", got)
	}

	// A rollback reuses the old ReplicaSet as the newest revision.
	setImage(t, ns, "registry.invalid/app:1")
	back := awaitReplicaSet(t, ns, "registry.invalid/app:1", 3)
	d = awaitRollout(t, ns, 3)
	awaitReplicaSet(t, ns, "registry.invalid/app:2", 0)
	if back.UID != first.UID || back.Annotations[revisionAnnotation] != "3" || d.Annotations[revisionAnnotation] != "3" {
		t.Errorf("rollback made ReplicaSet %s (was %s) revision %s, deployment %s", back.Name, first.Name,
			back.Annotations[revisionAnnotation], d.Annotations[revisionAnnotation])
	}
	if got := back.Annotations["deployment.kubernetes.io/revision-history"]; got != "1" {
		t.Errorf("revision history %q, want 1", got)
	}
	if n := fewest(); n < 3 {
		t.Errorf("with maxUnavailable 0, only %d were available at one time", n)
	}
}

func setImage(t *testing.T, ns, image string) {
	t.Helper()
	updateObject(t, deployments(ns), "web", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image })
}

// trackFewestAvailable watches the Deployment and returns a function that returns the
// lowest number of available replicas so far.
func trackFewestAvailable(t *testing.T, ns string) func() int32 {
	t.Helper()
	w, err := deployments(ns).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("watch deployments: %v", err)
	}
	var fewest atomic.Int32
	fewest.Store(1 << 30)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for e := range w.ResultChan() {
			if d, ok := e.Object.(*appsv1.Deployment); ok {
				fewest.Store(min(fewest.Load(), d.Status.AvailableReplicas))
			}
		}
	}()
	t.Cleanup(func() { w.Stop(); <-ended })
	return fewest.Load
}

// Pods that never become ready leave the old replicas available, and the Deployment
// reports that it does not progress.
func TestDeploymentStuckRollout(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	markPodsReadyExcept(t, ns, "registry.invalid/broken")
	d := newDeployment("registry.invalid/app:1")
	d.Spec.ProgressDeadlineSeconds = new(int32(1))
	createObject(t, deployments(ns), d)
	awaitRollout(t, ns, 3)

	setImage(t, ns, "registry.invalid/broken")
	await(t, "missed progress deadline with 3 available of 4, 1 of them new", getByName(deployments(ns), "web"), func(d *appsv1.Deployment) bool {
		s := d.Status
		return deploymentCondition(d, appsv1.DeploymentProgressing).Reason == "ProgressDeadlineExceeded" &&
			s.AvailableReplicas == 3 && s.UpdatedReplicas == 1 && s.Replicas == 4 && s.UnavailableReplicas == 1
	})
	setImage(t, ns, "registry.invalid/app:1")
	awaitRollout(t, ns, 3)
	awaitReplicaSet(t, ns, "registry.invalid/broken", 0)
}
