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

// creators is how many Deployments are created at the same time.
const creators = 10

// burst is a number of Deployments created at once.
type burst struct{ deployments, replicas int }

// The bursts of the report, in this order in the same control plane.
var small, large = burst{100, 10}, burst{500, 10}

func (b burst) pods() int { return b.deployments * b.replicas }

func (b burst) key(what string) string { return what + b.String() }

// namespace is where run puts it.
func (b burst) namespace() string { return "burst-" + b.String() }

func (b burst) String() string { return fmt.Sprintf("%dx%d", b.deployments, b.replicas) }

// arrived is what a burst took, since its first create.
type arrived struct {
	pods    time.Duration // until all Pods existed
	settled time.Duration // until every Deployment's status said so too
}

// run makes a namespace of the burst's name and the Deployments in it.
func (b burst) run(ctx context.Context, a *api) (arrived, error) {
	return b.runIn(ctx, a, b.namespace())
}

func (b burst) runIn(ctx context.Context, a *api, ns string) (arrived, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := a.awaitNamespace(ctx, ns); err != nil {
		return arrived{}, err
	}
	apps, err := appsclient.NewForConfigAndClient(a.config(), a.client)
	if err != nil {
		return arrived{}, err
	}
	pods, err := metadata.NewForConfigAndClient(a.config(), a.client)
	if err != nil {
		return arrived{}, err
	}
	deployments := apps.Deployments(ns)
	podWatch, err := follow(ctx, pods.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(ns).Watch)
	if err != nil {
		return arrived{}, err
	}
	defer podWatch.Stop()
	deploymentWatch, err := follow(ctx, deployments.Watch)
	if err != nil {
		return arrived{}, err
	}
	defer deploymentWatch.Stop()

	began := time.Now()
	go func() {
		if err := b.create(ctx, deployments); err != nil {
			cancel(err)
		}
	}()
	var got arrived
	settled := make(chan error, 1)
	go func() { // beside the Pods: the server drops who does not keep up
		err := count(ctx, deploymentWatch, b.deployments, b.full)
		got.settled = time.Since(began)
		settled <- err
	}()
	err = count(ctx, podWatch, b.pods(), exists)
	got.pods = time.Since(began)
	if err != nil {
		cancel(err)
		<-settled
		return got, fmt.Errorf("%s: Pods: %w", b, err)
	}
	if err := <-settled; err != nil {
		return got, fmt.Errorf("%s: Deployments: %w", b, err)
	}
	return got, nil
}

func exists(runtime.Object) bool { return true }

// full reports whether the status of a Deployment knows all its Pods. Without
// nodes they are never available.
func (b burst) full(o runtime.Object) bool {
	d, ok := o.(*appsv1.Deployment)
	return ok && d.Status.ObservedGeneration == d.Generation && int(d.Status.Replicas) == b.replicas &&
		int(d.Status.UpdatedReplicas) == b.replicas && int(d.Status.UnavailableReplicas) == b.replicas
}

// count returns when the watch has seen n different objects for which ok holds.
func count(ctx context.Context, w *following, n int, ok func(runtime.Object) bool) error {
	seen := map[string]bool{}
	for len(seen) < n {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d: %w", len(seen), n, context.Cause(ctx))
		case e, open := <-w.ResultChan():
			object, isObject := e.Object.(metav1.Object)
			switch {
			case !open:
				if err := w.again(ctx); err != nil {
					return fmt.Errorf("%d of %d: the server has closed the watch: %w", len(seen), n, err)
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

// create makes all Deployments, some at a time.
func (b burst) create(ctx context.Context, client appsclient.DeploymentInterface) error {
	errs := make(chan error, creators)
	for first := range creators {
		go func() {
			for i := first; i < b.deployments; i += creators {
				_, err := client.Create(ctx, b.deployment(i), metav1.CreateOptions{})
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range creators {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

func (b burst) deployment(i int) *appsv1.Deployment {
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
