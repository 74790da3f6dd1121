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

// namespace returns the namespace that run uses.
func (b burst) namespace() string { return "burst-" + b.String() }

func (b burst) String() string { return fmt.Sprintf("%dx%d", b.deployments, b.replicas) }

// burstTimes are durations since the first create of a burst.
type burstTimes struct {
	pods    time.Duration // until all Pods existed
	settled time.Duration // until every Deployment's status counted them
}

// run creates the burst's namespace and the Deployments in it.
func (b burst) run(ctx context.Context, a *apiClient) (burstTimes, error) {
	ns := b.namespace()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := a.awaitNamespace(ctx, ns); err != nil {
		return burstTimes{}, err
	}
	apps, err := appsclient.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return burstTimes{}, err
	}
	pods, err := metadata.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return burstTimes{}, err
	}
	deployments := apps.Deployments(ns)
	podWatch, err := startWatch(ctx, pods.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(ns).Watch)
	if err != nil {
		return burstTimes{}, err
	}
	defer podWatch.Stop()
	deploymentWatch, err := startWatch(ctx, deployments.Watch)
	if err != nil {
		return burstTimes{}, err
	}
	defer deploymentWatch.Stop()

	began := time.Now()
	go func() {
		if err := b.createDeployments(ctx, deployments); err != nil {
			cancel(err)
		}
	}()
	var got burstTimes
	settled := make(chan error, 1)
	go func() { // concurrently with the Pods: the server drops slow watchers
		err := awaitCount(ctx, deploymentWatch, b.deployments, b.statusCountsAllPods)
		got.settled = time.Since(began)
		settled <- err
	}()
	err = awaitCount(ctx, podWatch, b.podCount(), anyObject)
	got.pods = time.Since(began)
	if err != nil {
		cancel(err)
		<-settled //nolint:errcheck // it fails because of the cancel
		return got, fmt.Errorf("%s: Pods: %w", b, err)
	}
	if err := <-settled; err != nil {
		return got, fmt.Errorf("%s: Deployments: %w", b, err)
	}
	return got, nil
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
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d: %w", len(seen), n, context.Cause(ctx))
		case e, open := <-w.ResultChan():
			object, isObject := e.Object.(metav1.Object)
			switch {
			case !open:
				if err := w.restart(ctx); err != nil {
					return fmt.Errorf("%d of %d: the server closed the watch: %w", len(seen), n, err)
				}
			case e.Type == watch.Error:
				return fmt.Errorf("%d of %d: watch: %v", len(seen), n, e.Object)
			case isObject && e.Type != watch.Deleted && ok(e.Object):
				seen[object.GetName()] = true
			}
		}
	}
	return nil
}

// createDeployments creates all Deployments with several clients.
func (b burst) createDeployments(ctx context.Context, client appsclient.DeploymentInterface) error {
	errs := make(chan error, parallelClients)
	for first := range parallelClients {
		go func() {
			for i := first; i < b.deployments; i += parallelClients {
				_, err := client.Create(ctx, b.newDeployment(i), metav1.CreateOptions{})
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range parallelClients {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
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
