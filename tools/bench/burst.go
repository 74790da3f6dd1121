package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	appsclient "k8s.io/client-go/kubernetes/typed/apps/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/ptr"
)

// parallelClients is the number of clients that create Deployments concurrently.
const parallelClients = 10

// burst is a number of Deployments that are created at once.
type burst struct{ deployments, replicas int }

// The bursts of the report, in this order in one control plane.
var smallBurst, largeBurst = burst{100, 10}, burst{500, 10}

func (b burst) podCount() int { return b.deployments * b.replicas }

func (b burst) metricKey(what string) string { return what + b.String() }

// namespace returns the namespace for a single run in a control plane.
func (b burst) namespace() string { return "burst-" + b.String() }

func (b burst) String() string { return fmt.Sprintf("%dx%d", b.deployments, b.replicas) }

// burstTimes are durations since the first create of a burst.
type burstTimes struct {
	pods    time.Duration // until all Pods existed, or were Ready
	settled time.Duration // until every Deployment's status counted them
}

// runUntilCreated creates a namespace and the burst's Deployments in it, and waits until their Pods
// exist and their statuses count them.
func (b burst) runUntilCreated(ctx context.Context, a *apiClient, ns string) (burstTimes, error) {
	pods, err := metadata.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return burstTimes{}, err
	}
	open := pods.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(ns).Watch
	return b.run(ctx, a, ns, open, anyObject, b.statusCountsAllPods)
}

// runUntilReady is runUntilCreated until the Pods are Ready and the statuses say so.
func (b burst) runUntilReady(ctx context.Context, a *apiClient, ns string) (burstTimes, error) {
	core, err := coreclient.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return burstTimes{}, err
	}
	return b.run(ctx, a, ns, core.Pods(ns).Watch, isPodReady, b.statusSaysAvailable)
}

func (b burst) run(ctx context.Context, a *apiClient, ns string, openPods openWatch, isDone, isSettled func(runtime.Object) bool) (got burstTimes, err error) {
	apps, err := appsclient.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return got, err
	}
	if err := a.awaitNamespace(ctx, ns); err != nil {
		return got, err
	}
	pods, err := startWatch(ctx, openPods)
	if err != nil {
		return got, err
	}
	defer pods.Stop()
	deployments, err := startWatch(ctx, apps.Deployments(ns).Watch)
	if err != nil {
		return got, err
	}
	defer deployments.Stop()
	settled := make(chan error, 1)
	began := time.Now()
	err = inParallel(ctx, b.deployments, func(ctx context.Context, i int) error {
		_, err := apps.Deployments(ns).Create(ctx, b.newDeployment(i), metav1.CreateOptions{})
		return err
	}, func(ctx context.Context) error {
		go func() { // concurrently with the Pods: the server drops slow watchers
			settled <- awaitCount(ctx, deployments, b.deployments, isSettled)
		}()
		if err := awaitCount(ctx, pods, b.podCount(), isDone); err != nil {
			return fmt.Errorf("%s: Pods: %w", b, err)
		}
		got.pods = time.Since(began)
		if err := <-settled; err != nil {
			return fmt.Errorf("%s: Deployments: %w", b, err)
		}
		return nil
	})
	got.settled = time.Since(began)
	return got, err
}

func anyObject(runtime.Object) bool { return true }

// statusCountsAllPods reports whether the status of a Deployment counts all its Pods.
// Without nodes they never become available.
func (b burst) statusCountsAllPods(o runtime.Object) bool {
	d, ok := o.(*appsv1.Deployment)
	return ok && d.Status.ObservedGeneration == d.Generation && int(d.Status.Replicas) == b.replicas &&
		int(d.Status.UpdatedReplicas) == b.replicas && int(d.Status.UnavailableReplicas) == b.replicas
}

// awaitCount returns when the watch has seen n different objects for which ok is true.
func awaitCount(ctx context.Context, w *restartableWatch, n int, ok func(runtime.Object) bool) error {
	seen := map[string]bool{}
	for len(seen) < n {
		err := w.awaitEvent(ctx, func(e watch.Event, o metav1.Object) bool {
			found := e.Type != watch.Deleted && ok(e.Object)
			if found {
				seen[o.GetName()] = true
			}
			return found
		})
		if err != nil {
			return fmt.Errorf("%d of %d: %w", len(seen), n, err)
		}
	}
	return nil
}

// statusSaysAvailable reports whether the status of a Deployment counts all its Pods as
// available.
func (b burst) statusSaysAvailable(o runtime.Object) bool {
	d, ok := o.(*appsv1.Deployment)
	return ok && d.Status.ObservedGeneration == d.Generation && int(d.Status.AvailableReplicas) == b.replicas
}

func (b burst) newDeployment(i int) *appsv1.Deployment {
	name := fmt.Sprintf("d%04d", i)
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(b.replicas)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "pause", Image: "registry.k8s.io/pause:3.10"}}},
			},
		},
	}
}
