package e2e_test

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestDeploymentScale(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	markPodsReadyExcept(t, ns, "")
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	awaitRollout(t, ns, 3)
	before := podUIDs(awaitPods(t, ns, "app=web", 3))

	scaleObject(t, deployments(ns), "web", 6)
	awaitRollout(t, ns, 6)
	after := podUIDs(awaitPods(t, ns, "app=web", 6))
	for uid := range before {
		if !after[uid] {
			t.Errorf("pod %s did not survive scaling up", uid)
		}
	}
	scaleObject(t, deployments(ns), "web", 2)
	d := awaitRollout(t, ns, 2)
	rs := awaitReplicaSet(t, ns, "registry.invalid/app:1", 2)
	if d.Annotations[revisionAnnotation] != "1" || rs.Annotations["deployment.kubernetes.io/desired-replicas"] != "2" {
		t.Errorf("after scaling: revision %s, annotations of the ReplicaSet %v", d.Annotations[revisionAnnotation], rs.Annotations)
	}
	for uid := range podUIDs(awaitPods(t, ns, "app=web", 2)) {
		if !after[uid] {
			t.Errorf("pod %s is new after scaling down", uid)
		}
	}
}

func podUIDs(list []corev1.Pod) map[types.UID]bool {
	set := map[types.UID]bool{}
	for _, p := range list {
		set[p.UID] = true
	}
	return set
}

// A paused Deployment scales but does not roll out; old ReplicaSets beyond the
// history limit are deleted.
func TestDeploymentPauseAndHistory(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	markPodsReadyExcept(t, ns, "")
	d := newDeployment("registry.invalid/app:1")
	d.Spec.RevisionHistoryLimit = new(int32(0))
	createObject(t, deployments(ns), d)
	awaitRollout(t, ns, 3)

	updateObject(t, deployments(ns), "web", func(d *appsv1.Deployment) {
		d.Spec.Paused = true
		d.Spec.Replicas = new(int32(4))
		d.Spec.Template.Spec.Containers[0].Image = "registry.invalid/app:2"
	})
	awaitReplicaSet(t, ns, "registry.invalid/app:1", 4)
	// The controller writes the condition alone before it counts the replicas again.
	await(t, "DeploymentPaused condition and no updated replicas", getByName(deployments(ns), "web"), func(d *appsv1.Deployment) bool {
		return deploymentCondition(d, appsv1.DeploymentProgressing).Reason == "DeploymentPaused" &&
			d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas == 0
	})
	if sets := listObjects(t, controlPlane.client.AppsV1().ReplicaSets(ns), ""); len(sets.Items) != 1 {
		t.Errorf("paused, with %d ReplicaSets", len(sets.Items))
	}

	updateObject(t, deployments(ns), "web", func(d *appsv1.Deployment) { d.Spec.Paused = false })
	awaitRollout(t, ns, 4)
	sets := await(t, "end of the old ReplicaSet", listBySelector(controlPlane.client.AppsV1().ReplicaSets(ns), ""),
		func(l *appsv1.ReplicaSetList) bool { return len(l.Items) == 1 })
	if image := sets.Items[0].Spec.Template.Spec.Containers[0].Image; image != "registry.invalid/app:2" {
		t.Errorf("the remaining ReplicaSet has image %s", image)
	}
}

// A new Deployment adopts the ReplicaSet that a deleted one with the same selector orphaned.
func TestDeploymentAdoption(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	markPodsReadyExcept(t, ns, "")
	old := createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	awaitRollout(t, ns, 3)
	before := podUIDs(awaitPods(t, ns, "app=web", 3))
	rs := awaitReplicaSet(t, ns, "registry.invalid/app:1", 3)
	src := newRemoteClient(t)
	start, err := src.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	deleteObject(t, deployments(ns), "web", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)})
	awaitGone(t, "deployment", getByName(deployments(ns), "web"))
	sets := controlPlane.client.AppsV1().ReplicaSets(ns)
	orphan := getObject(t, sets, rs.Name)
	if len(orphan.OwnerReferences) != 0 {
		t.Fatalf("the deployment is gone and its ReplicaSet has owners %v", orphan.OwnerReferences)
	}
	// While the deployment controller has the old owner in its cache, it creates another ReplicaSet.
	q := observe.Query{After: start.Journal.Last, Controller: "deployment-controller", Object: &observe.Object{Group: "apps", Resource: "replicasets", Namespace: ns, Name: rs.Name}}
	await(t, "delivery of the orphan", fetchRecords[*observe.Delivered](src, q), func(l []*observe.Delivered) bool {
		return slices.ContainsFunc(l, func(d *observe.Delivered) bool { return d.ResourceVersion == orphan.ResourceVersion })
	})

	adopter := createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	if adopter.UID == old.UID {
		t.Fatal("the new deployment has the old one's UID")
	}
	awaitRollout(t, ns, 3)
	adopted := awaitReplicaSet(t, ns, "registry.invalid/app:1", 3)
	if ref := metav1.GetControllerOf(&adopted); ref == nil || ref.UID != adopter.UID || adopted.UID != rs.UID {
		t.Errorf("ReplicaSet %s (was %s) has owner %v, want %s", adopted.UID, rs.UID, ref, adopter.UID)
	}
	if sets := listObjects(t, sets, ""); len(sets.Items) != 1 {
		t.Errorf("%d ReplicaSets, want the adopted one", len(sets.Items))
	}
	for uid := range podUIDs(awaitPods(t, ns, "app=web", 3)) {
		if !before[uid] {
			t.Errorf("pod %s was recreated", uid)
		}
	}
}

// Controllers adopt matching objects that have no owner.
func TestDeploymentAdoptsUnownedObjects(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	pod := createObject(t, pods(ns), newCostlyPod("stray", map[string]string{"app": "web", "from": "stranger"}))
	stray := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "stray", Labels: webLabels},
		Spec: appsv1.ReplicaSetSpec{
			Selector: labelSelector(map[string]string{"app": "web", "from": "stranger"}),
			Template: podTemplate(map[string]string{"app": "web", "from": "stranger"}),
		},
	}
	createObject(t, controlPlane.client.AppsV1().ReplicaSets(ns), stray)
	await(t, "pod adopted by the ReplicaSet", getByName(pods(ns), pod.Name), hasController)

	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	adopted := await(t, "ReplicaSet adopted by the deployment", getByName(controlPlane.client.AppsV1().ReplicaSets(ns), "stray"),
		func(rs *appsv1.ReplicaSet) bool { return metav1.GetControllerOf(rs) != nil })
	requireController(t, adopted, "Deployment", "web")
	// Its template differs, so it is scaled down like an old revision.
	markPodsReadyExcept(t, ns, "")
	awaitRollout(t, ns, 3)
	awaitGone(t, "stray pod", getByName(pods(ns), pod.Name))
}

// newCostlyPod returns a Pod that controllers delete after others: those that adopt it may have
// a Pod too many.
func newCostlyPod(name string, labels map[string]string) *corev1.Pod {
	p := newPod(name, labels)
	p.Annotations = map[string]string{corev1.PodDeletionCost: "100"}
	return p
}

func hasController(p *corev1.Pod) bool { return metav1.GetControllerOf(p) != nil }
