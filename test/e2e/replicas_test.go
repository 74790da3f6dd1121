package e2e_test

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var webLabels = map[string]string{"app": "web"}

// replicaController is the common part of a ReplicationController and a ReplicaSet
// with the name "web".
type replicaController struct {
	kind   string
	create func(t *testing.T, ns string, replicas int32)
	scale  func(t *testing.T, ns string, replicas int32)
	counts func(ns string) func(context.Context) (replicaCounts, error)
	delete func(t *testing.T, ns string)
}

// replicaCounts is the common part of their statuses.
type replicaCounts struct{ Replicas, FullyLabeled, Ready, Available int32 }

func replicaControllers() []replicaController {
	core, apps := controlPlane.client.CoreV1(), controlPlane.client.AppsV1()
	return []replicaController{
		{
			kind: "ReplicationController",
			create: func(t *testing.T, ns string, replicas int32) {
				createObject(t, core.ReplicationControllers(ns), &corev1.ReplicationController{
					ObjectMeta: metav1.ObjectMeta{Name: "web"},
					Spec:       corev1.ReplicationControllerSpec{Replicas: &replicas, Selector: webLabels, Template: new(podTemplate(webLabels))},
				})
			},
			scale: func(t *testing.T, ns string, replicas int32) {
				scaleObject(t, core.ReplicationControllers(ns), "web", replicas)
			},
			counts: func(ns string) func(context.Context) (replicaCounts, error) {
				return func(ctx context.Context) (replicaCounts, error) {
					rc, err := core.ReplicationControllers(ns).Get(ctx, "web", metav1.GetOptions{})
					if err != nil || rc.Status.ObservedGeneration != rc.Generation {
						return replicaCounts{}, err
					}
					return replicaCounts{rc.Status.Replicas, rc.Status.FullyLabeledReplicas, rc.Status.ReadyReplicas, rc.Status.AvailableReplicas}, nil
				}
			},
			delete: func(t *testing.T, ns string) { deleteObject(t, core.ReplicationControllers(ns), "web") },
		},
		{
			kind: "ReplicaSet",
			create: func(t *testing.T, ns string, replicas int32) {
				createObject(t, apps.ReplicaSets(ns), &appsv1.ReplicaSet{
					ObjectMeta: metav1.ObjectMeta{Name: "web"},
					Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: labelSelector(webLabels), Template: podTemplate(webLabels)},
				})
			},
			scale: func(t *testing.T, ns string, replicas int32) { scaleObject(t, apps.ReplicaSets(ns), "web", replicas) },
			counts: func(ns string) func(context.Context) (replicaCounts, error) {
				return func(ctx context.Context) (replicaCounts, error) {
					rs, err := apps.ReplicaSets(ns).Get(ctx, "web", metav1.GetOptions{})
					if err != nil || rs.Status.ObservedGeneration != rs.Generation {
						return replicaCounts{}, err
					}
					return replicaCounts{rs.Status.Replicas, rs.Status.FullyLabeledReplicas, rs.Status.ReadyReplicas, rs.Status.AvailableReplicas}, nil
				}
			},
			delete: func(t *testing.T, ns string) { deleteObject(t, apps.ReplicaSets(ns), "web") },
		},
	}
}

// scaleObject changes the number of replicas through the scale subresource.
func scaleObject(t *testing.T, c interface {
	GetScale(context.Context, string, metav1.GetOptions) (*autoscalingv1.Scale, error)
	UpdateScale(context.Context, string, *autoscalingv1.Scale, metav1.UpdateOptions) (*autoscalingv1.Scale, error)
}, name string, replicas int32) {
	t.Helper()
	updateObject(t, scaleClient{c.GetScale, c.UpdateScale}, name, func(s *autoscalingv1.Scale) { s.Spec.Replicas = replicas })
}

type scaleClient struct {
	get    func(context.Context, string, metav1.GetOptions) (*autoscalingv1.Scale, error)
	update func(context.Context, string, *autoscalingv1.Scale, metav1.UpdateOptions) (*autoscalingv1.Scale, error)
}

func (c scaleClient) Get(ctx context.Context, name string, opts metav1.GetOptions) (*autoscalingv1.Scale, error) {
	return c.get(ctx, name, opts)
}

func (c scaleClient) Update(ctx context.Context, s *autoscalingv1.Scale, opts metav1.UpdateOptions) (*autoscalingv1.Scale, error) {
	return c.update(ctx, s.Name, s, opts)
}

func TestReplicaControllers(t *testing.T) {
	t.Parallel()
	for _, r := range replicaControllers() {
		t.Run(r.kind, func(t *testing.T) {
			t.Parallel()
			ns := createNamespace(t)
			awaitCounts := func(want replicaCounts) {
				t.Helper()
				await(t, r.kind+" status", r.counts(ns), func(got replicaCounts) bool { return got == want })
			}
			r.create(t, ns, 3)
			made := awaitPods(t, ns, "app=web", 3)
			for _, p := range made {
				requireController(t, &p, r.kind, "web")
				if p.Spec.Containers[0].Image != "registry.invalid/app:1" {
					t.Errorf("pod %s runs %s", p.Name, p.Spec.Containers[0].Image)
				}
			}
			awaitCounts(replicaCounts{Replicas: 3, FullyLabeled: 3})
			markReady(t, made[0], made[1])
			awaitCounts(replicaCounts{Replicas: 3, FullyLabeled: 3, Ready: 2, Available: 2})

			// A deleted Pod is replaced by one that is not ready.
			deleteObject(t, pods(ns), made[1].Name)
			replaced := awaitPods(t, ns, "app=web", 3)
			for _, p := range replaced {
				if p.UID == made[1].UID {
					t.Errorf("pod %s was deleted but still exists", p.Name)
				}
			}
			awaitCounts(replicaCounts{Replicas: 3, FullyLabeled: 3, Ready: 1, Available: 1})

			// Scaling down from three Pods keeps the ready one.
			r.scale(t, ns, 1)
			left := awaitPods(t, ns, "app=web", 1)
			if left[0].UID != made[0].UID {
				t.Errorf("%s is left, want the ready %s", left[0].Name, made[0].Name)
			}
			awaitCounts(replicaCounts{1, 1, 1, 1})

			r.delete(t, ns)
			awaitPods(t, ns, "app=web", 0)
		})
	}
}

// A ReplicaSet whose Pods are refused reports it, and recovers.
func TestReplicaSetFailure(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	sets := controlPlane.client.AppsV1().ReplicaSets(ns)
	tmpl := podTemplate(webLabels)
	tmpl.Spec.PriorityClassName = uniqueName("absent")
	createObject(t, sets, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       appsv1.ReplicaSetSpec{Selector: labelSelector(webLabels), Template: tmpl},
	})
	rs := await(t, "ReplicaFailure condition", getByName(sets, "web"), func(rs *appsv1.ReplicaSet) bool { return len(rs.Status.Conditions) > 0 })
	if c := rs.Status.Conditions[0]; c.Type != appsv1.ReplicaSetReplicaFailure || c.Reason != "FailedCreate" || c.Status != corev1.ConditionTrue {
		t.Errorf("condition %+v", c)
	}
	awaitEvent(t, ns, "ReplicaSet", "web", "FailedCreate")

	updateObject(t, sets, "web", func(rs *appsv1.ReplicaSet) { rs.Spec.Template.Spec.PriorityClassName = "" })
	awaitPods(t, ns, "app=web", 1)
	await(t, "end of the ReplicaFailure condition", getByName(sets, "web"), func(rs *appsv1.ReplicaSet) bool { return len(rs.Status.Conditions) == 0 })
}
