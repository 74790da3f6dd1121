package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsclient "k8s.io/client-go/kubernetes/typed/apps/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

func (a *apiClient) restConfig() *rest.Config {
	return &rest.Config{Host: a.url, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf}}
}

// createNodes creates simulated nodes, and returns when they are Ready.
func (m *measurement) createNodes(ctx context.Context, a *apiClient, n int) error {
	if n == 0 {
		return nil
	}
	core, err := coreclient.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return err
	}
	nodes, err := startWatch(ctx, core.Nodes().Watch)
	if err != nil {
		return err
	}
	defer nodes.Stop()
	began := time.Now()
	err = inParallel(ctx, n, func(ctx context.Context, i int) error {
		_, err := core.Nodes().Create(ctx, newNode(i), metav1.CreateOptions{})
		return err
	}, func(ctx context.Context) error { return awaitCount(ctx, nodes, n, isNodeReady) })
	m.recordSeconds("nodesReady", time.Since(began))
	return err
}

// inParallel calls do with the numbers below n, from several clients, while it awaits
// what follows from it.
func inParallel(ctx context.Context, n int, do func(ctx context.Context, i int) error, await func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for first := range parallelClients {
		go func() {
			for i := first; i < n; i += parallelClients {
				if err := do(ctx, i); err != nil {
					cancel(err)
					return
				}
			}
		}()
	}
	return await(ctx)
}

// measureManyPods runs many Pods without a controller, measures the idle state, and
// deletes them.
func measureManyPods(ctx context.Context, m *measurement, a *apiClient) error {
	core, err := coreclient.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return err
	}
	const ns = "many"
	if err := a.awaitNamespace(ctx, ns); err != nil {
		return err
	}
	pods, err := startWatch(ctx, core.Pods(ns).Watch)
	if err != nil {
		return err
	}
	defer pods.Stop()
	cpu, began := m.controlPlane.startCPUTimer(), time.Now()
	err = inParallel(ctx, manyPods, func(ctx context.Context, i int) error {
		_, err := core.Pods(ns).Create(ctx, newPod(i), metav1.CreateOptions{})
		return err
	}, func(ctx context.Context) error { return awaitCount(ctx, pods, manyPods, isPodReady) })
	if err != nil {
		return fmt.Errorf("Pods: %w", err)
	}
	m.recordSeconds("podsReady", time.Since(began))
	used, err := cpu()
	if err := m.recordIfSupported("podsCPU", used.Seconds(), err); err != nil {
		return err
	}
	pods.Stop() // it would be too slow to follow the deletion if nothing read it meanwhile
	if err := m.measureIdle(ctx); err != nil {
		return err
	}
	return measurePodsDeleted(ctx, m, core.Pods(ns))
}

// measureScheduling creates nodes that nothing simulates, and Pods, and waits until the scheduler
// has bound them all. The Pods tolerate that no kubelet renews the nodes' leases.
func measureScheduling(ctx context.Context, m *measurement, a *apiClient) error {
	core, err := coreclient.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return err
	}
	const ns = "scheduling"
	if err := a.awaitNamespace(ctx, ns); err != nil {
		return err
	}
	nodes, err := startWatch(ctx, core.Nodes().Watch)
	if err != nil {
		return err
	}
	defer nodes.Stop()
	err = inParallel(ctx, manyNodes, func(ctx context.Context, i int) error {
		_, err := core.Nodes().Create(ctx, newPlainNode(i), metav1.CreateOptions{})
		return err
	}, func(ctx context.Context) error { return awaitCount(ctx, nodes, manyNodes, isNodeReady) })
	if err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	nodes.Stop() // nothing reads it any more
	pods, err := startWatch(ctx, core.Pods(ns).Watch)
	if err != nil {
		return err
	}
	defer pods.Stop()
	cpu, began := m.controlPlane.startCPUTimer(), time.Now()
	err = inParallel(ctx, manyPods, func(ctx context.Context, i int) error {
		pod := newPod(i)
		pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		_, err := core.Pods(ns).Create(ctx, pod, metav1.CreateOptions{})
		return err
	}, func(ctx context.Context) error { return awaitCount(ctx, pods, manyPods, isPodBound) })
	if err != nil {
		return fmt.Errorf("Pods: %w", err)
	}
	took := time.Since(began)
	m.recordSeconds("bound", took)
	m.values["rate"] = manyPods / took.Seconds()
	used, err := cpu()
	return m.recordIfSupported("cpu", used.Seconds(), err)
}

func isPodBound(o runtime.Object) bool {
	pod, ok := o.(*corev1.Pod)
	return ok && pod.Spec.NodeName != ""
}

// measurePodsDeleted deletes all Pods of a namespace with one request, or with several if
// the server does not answer it in time, and waits until none is left.
func measurePodsDeleted(ctx context.Context, m *measurement, pods coreclient.PodInterface) error {
	began := time.Now()
	err := pollUntil(ctx, 50*time.Millisecond, func(ctx context.Context) error {
		return pods.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	})
	if err != nil {
		return err
	}
	err = pollUntil(ctx, 50*time.Millisecond, func(ctx context.Context) error {
		list, err := pods.List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil && len(list.Items) > 0 {
			return fmt.Errorf("Pod %s is left", list.Items[0].Name)
		}
		return err
	})
	m.recordSeconds("deleted", time.Since(began))
	return err
}

// measureBurstOnNodes creates the small burst and waits until its Pods are Ready.
func measureBurstOnNodes(ctx context.Context, m *measurement, a *apiClient) error {
	return m.countDuring(ctx, a, func() error { return measureReadyBurst(ctx, m, a) })
}

func measureReadyBurst(ctx context.Context, m *measurement, a *apiClient) error {
	cpu := m.controlPlane.startCPUTimer()
	got, err := smallBurst.runUntilReady(ctx, a, smallBurst.namespace())
	if err != nil {
		return err
	}
	m.recordSeconds("ready", got.pods)
	m.recordSeconds("settled", got.settled)
	used, err := cpu()
	if err := m.recordIfSupported("cpu", used.Seconds(), err); err != nil {
		return err
	}
	return m.recordRSS("rss")
}

// runUntilReady creates a namespace and the burst's Deployments in it, and waits until their
// Pods are Ready and their statuses say so.
func (b burst) runUntilReady(ctx context.Context, a *apiClient, ns string) (got burstTimes, err error) {
	apps, err := appsclient.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return got, err
	}
	core, err := coreclient.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return got, err
	}
	if err := a.awaitNamespace(ctx, ns); err != nil {
		return got, err
	}
	pods, err := startWatch(ctx, core.Pods(ns).Watch)
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
			settled <- awaitCount(ctx, deployments, b.deployments, b.statusSaysAvailable)
		}()
		if err := awaitCount(ctx, pods, b.podCount(), isPodReady); err != nil {
			return fmt.Errorf("%s: Pods: %w", b, err)
		}
		got.pods = time.Since(began)
		return <-settled
	})
	got.settled = time.Since(began)
	return got, err
}

// statusSaysAvailable reports whether the status of a Deployment counts all its Pods as
// available.
func (b burst) statusSaysAvailable(o runtime.Object) bool {
	d, ok := o.(*appsv1.Deployment)
	return ok && d.Status.ObservedGeneration == d.Generation && int(d.Status.AvailableReplicas) == b.replicas
}

func newPod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%05d", i)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "pause", Image: "registry.k8s.io/pause:3.10"}}},
	}
}
