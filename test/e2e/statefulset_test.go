package e2e_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
)

func statefulSets(ns string) appsv1client.StatefulSetInterface {
	return controlPlane.client.AppsV1().StatefulSets(ns)
}

// newStatefulSet returns a StatefulSet with three replicas with a claim each.
func newStatefulSet() *appsv1.StatefulSet {
	tmpl := podTemplate(webLabels)
	tmpl.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.StatefulSetSpec{
			Replicas:    new(int32(3)),
			ServiceName: "db",
			Selector:    labelSelector(webLabels),
			Template:    tmpl,
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: corev1.PersistentVolumeClaimSpec{
					StorageClassName: new(""),
					AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
				},
			}},
		},
	}
}

// watchPodsUntil watches the namespace's Pods, calls begin, and calls see for each
// change until it returns true.
func watchPodsUntil(t *testing.T, ns, what string, begin func(), see func(watch.EventType, *corev1.Pod) bool) {
	t.Helper()
	w, err := pods(ns).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("watch pods: %v", err)
	}
	defer w.Stop()
	begin()
	deadline := time.After(waitTimeout)
	for {
		select {
		case e, open := <-w.ResultChan():
			p, ok := e.Object.(*corev1.Pod)
			if !open || !ok {
				t.Fatalf("the watch for %s ended with %v %v", what, e.Type, e.Object)
			}
			if see(e.Type, p) {
				return
			}
		case <-deadline:
			t.Fatalf("no %s within %v; the pods:\n%s", what, waitTimeout, toYAML(listObjects(t, pods(ns), "")))
		}
	}
}

func TestStatefulSetOrder(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	// Each Pod is made ready when it appears: only then may the next one be created.
	var ready []string
	begin := func() { createObject(t, statefulSets(ns), newStatefulSet()) }
	watchPodsUntil(t, ns, "3 pods in order", begin, func(kind watch.EventType, p *corev1.Pod) bool {
		if kind == watch.Added {
			if want := fmt.Sprintf("db-%d", len(ready)); p.Name != want {
				t.Errorf("pod %s was created while %v were ready, want %s", p.Name, ready, want)
			}
			requireController(t, p, "StatefulSet", "db")
			markReady(t, *p)
			ready = append(ready, p.Name)
		}
		return len(ready) == 3
	})
	await(t, "3 available replicas", getByName(statefulSets(ns), "db"), func(s *appsv1.StatefulSet) bool {
		return s.Status.Replicas == 3 && s.Status.ReadyReplicas == 3 && s.Status.AvailableReplicas == 3 && s.Status.UpdatedReplicas == 3
	})
	for i := range 3 {
		p := getObject(t, pods(ns), fmt.Sprintf("db-%d", i))
		claim := getObject(t, controlPlane.client.CoreV1().PersistentVolumeClaims(ns), "data-"+p.Name)
		mounted := slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name
		})
		if !mounted || p.Spec.Hostname != p.Name || p.Spec.Subdomain != "db" || p.Labels["statefulset.kubernetes.io/pod-name"] != p.Name {
			t.Errorf("pod %s: hostname %s, subdomain %s, labels %v, volumes %v", p.Name, p.Spec.Hostname, p.Spec.Subdomain, p.Labels, p.Spec.Volumes)
		}
	}

	// A deleted Pod is replaced with the same name and claim.
	lost := getObject(t, pods(ns), "db-1")
	claim := getObject(t, controlPlane.client.CoreV1().PersistentVolumeClaims(ns), "data-db-1")
	deleteObject(t, pods(ns), "db-1")
	back := await(t, "replacement of db-1", getByName(pods(ns), "db-1"), func(p *corev1.Pod) bool { return p.UID != lost.UID })
	await(t, "2 available replicas", getByName(statefulSets(ns), "db"), func(s *appsv1.StatefulSet) bool { return s.Status.AvailableReplicas == 2 })
	markReady(t, *back)
	if again := getObject(t, controlPlane.client.CoreV1().PersistentVolumeClaims(ns), "data-db-1"); again.UID != claim.UID {
		t.Error("the claim of db-1 was replaced")
	}

	// Scaling down deletes the highest ordinal first and keeps the claims.
	await(t, "3 available replicas again", getByName(statefulSets(ns), "db"), func(s *appsv1.StatefulSet) bool { return s.Status.AvailableReplicas == 3 })
	var gone []string
	shrink := func() { scaleObject(t, statefulSets(ns), "db", 1) }
	watchPodsUntil(t, ns, "end of 2 pods", shrink, func(kind watch.EventType, p *corev1.Pod) bool {
		if kind == watch.Deleted {
			gone = append(gone, p.Name)
		}
		return len(gone) == 2
	})
	if !slices.Equal(gone, []string{"db-2", "db-1"}) {
		t.Errorf("deleted in the order %v", gone)
	}
	if claims := listObjects(t, controlPlane.client.CoreV1().PersistentVolumeClaims(ns), ""); len(claims.Items) != 3 {
		t.Errorf("%d claims are left, want 3", len(claims.Items))
	}
}

// A new template replaces the Pods from the highest ordinal down to the partition.
func TestStatefulSetRollout(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	markPodsReadyExcept(t, ns, "")
	s := newStatefulSet()
	s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	s.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
		WhenScaled:  appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
	}
	createObject(t, statefulSets(ns), s)
	await(t, "3 available replicas", getByName(statefulSets(ns), "db"), func(s *appsv1.StatefulSet) bool { return s.Status.AvailableReplicas == 3 })

	updateObject(t, statefulSets(ns), "db", func(s *appsv1.StatefulSet) {
		s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(1))}
		s.Spec.Template.Spec.Containers[0].Image = "registry.invalid/app:2"
	})
	s = await(t, "rollout down to the partition", getByName(statefulSets(ns), "db"), func(s *appsv1.StatefulSet) bool {
		return s.Status.ObservedGeneration == s.Generation && s.Status.UpdatedReplicas == 2 && s.Status.AvailableReplicas == 3
	})
	if s.Status.CurrentRevision == s.Status.UpdateRevision || s.Status.CurrentReplicas != 1 {
		t.Errorf("status of a partial rollout: %+v", s.Status)
	}
	for name, want := range map[string]string{"db-0": "registry.invalid/app:1", "db-1": "registry.invalid/app:2", "db-2": "registry.invalid/app:2"} {
		if p := getObject(t, pods(ns), name); p.Spec.Containers[0].Image != want {
			t.Errorf("%s runs %s, want %s", name, p.Spec.Containers[0].Image, want)
		}
	}
	updateObject(t, statefulSets(ns), "db", func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.RollingUpdate.Partition = new(int32(0)) })
	await(t, "complete rollout", getByName(statefulSets(ns), "db"), func(s *appsv1.StatefulSet) bool {
		return s.Status.UpdatedReplicas == 3 && s.Status.AvailableReplicas == 3 && s.Status.CurrentRevision == s.Status.UpdateRevision
	})

	deleteObject(t, statefulSets(ns), "db")
	await(t, "end of the claims", listBySelector(controlPlane.client.CoreV1().PersistentVolumeClaims(ns), ""),
		func(l *corev1.PersistentVolumeClaimList) bool { return len(l.Items) == 0 })
}
