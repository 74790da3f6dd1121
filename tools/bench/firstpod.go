package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	appsclient "k8s.io/client-go/kubernetes/typed/apps/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
)

// firstPodTries is the number of Deployments: the 99th percentile is the second
// slowest of them.
const firstPodTries = 100

// measureFirstPods measures how long after the creation of a Deployment a watcher
// receives its first Pod.
func (m *measurement) measureFirstPods(ctx context.Context, a *apiClient) error {
	const ns = "first-pod"
	pods, err := metadata.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return err
	}
	took, err := createOneByOne(ctx, a, ns, pods.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(ns).Watch,
		func(watch.Event) bool { return true })
	if err != nil {
		return err
	}
	m.values["firstPodP50"], m.values["firstPodP99"] = quantile(took, 0.50), quantile(took, 0.99)
	return nil
}

// measureFirstReady is measureFirstPods until the Pod is Ready on a node.
func measureFirstReady(ctx context.Context, m *measurement, a *apiClient) error {
	const ns = "first-ready"
	core, err := coreclient.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return err
	}
	took, err := createOneByOne(ctx, a, ns, core.Pods(ns).Watch, func(e watch.Event) bool { return isPodReady(e.Object) })
	if err != nil {
		return err
	}
	m.values["median"], m.values["p99"] = quantile(took, 0.50), quantile(took, 0.99)
	return nil
}

// createOneByOne creates Deployments of one Pod, each when the Pod of the one before has had an event for
// which done is true, and returns how many milliseconds each took until then.
func createOneByOne(ctx context.Context, a *apiClient, ns string, open openWatch, done func(watch.Event) bool) ([]float64, error) {
	if err := a.awaitNamespace(ctx, ns); err != nil {
		return nil, err
	}
	apps, err := appsclient.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return nil, err
	}
	w, err := startWatch(ctx, open)
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	var took []float64
	for i := range firstPodTries {
		d := burst{firstPodTries, 1}.newDeployment(i)
		began := time.Now()
		if _, err := apps.Deployments(ns).Create(ctx, d, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
		err := w.awaitEvent(ctx, func(e watch.Event, o metav1.Object) bool {
			return strings.HasPrefix(o.GetName(), d.Name+"-") && done(e)
		})
		if err != nil {
			return nil, fmt.Errorf("Pod of %s: %w", d.Name, err)
		}
		took = append(took, float64(time.Since(began))/float64(time.Millisecond))
	}
	return took, nil
}

// quantile returns the smallest value that at least the share q of the values does not exceed.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}
