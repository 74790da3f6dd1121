package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	began := time.Now()
	err = createAndAwait(ctx, n, core.Nodes().Watch, isNodeReady, func(ctx context.Context, i int) error {
		_, err := core.Nodes().Create(ctx, newNode(i), metav1.CreateOptions{})
		return err
	})
	m.recordSeconds("nodesReady", time.Since(began))
	return err
}

// createAndAwait creates n objects, and returns when a watch has shown as many that are as they
// should be. The watch has ended then: it would be too slow if nothing read it.
func createAndAwait(ctx context.Context, n int, open openWatch, isDone func(runtime.Object) bool, create func(ctx context.Context, i int) error) error {
	w, err := startWatch(ctx, open)
	if err != nil {
		return err
	}
	defer w.Stop()
	return inParallel(ctx, n, create, func(ctx context.Context) error { return awaitCount(ctx, w, n, isDone) })
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
	cpu, began := m.controlPlane.startCPUTimer(), time.Now()
	err = createAndAwait(ctx, manyPods, core.Pods(ns).Watch, isPodReady, func(ctx context.Context, i int) error {
		_, err := core.Pods(ns).Create(ctx, newPod(i), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("Pods: %w", err)
	}
	m.recordSeconds("podsReady", time.Since(began))
	if err := m.recordCPU("podsCPU", cpu); err != nil {
		return err
	}
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
	err = createAndAwait(ctx, manyNodes, core.Nodes().Watch, isNodeReady, func(ctx context.Context, i int) error {
		_, err := core.Nodes().Create(ctx, newPlainNode(i), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	cpu, began := m.controlPlane.startCPUTimer(), time.Now()
	err = createAndAwait(ctx, manyPods, core.Pods(ns).Watch, isPodBound, func(ctx context.Context, i int) error {
		pod := newPod(i)
		pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		_, err := core.Pods(ns).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("Pods: %w", err)
	}
	took := time.Since(began)
	m.recordSeconds("bound", took)
	m.values["rate"] = manyPods / took.Seconds()
	return m.recordCPU("cpu", cpu)
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
	if err := m.recordCPU("cpu", cpu); err != nil {
		return err
	}
	return m.recordRSS("rss")
}

func newPod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%05d", i)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "pause", Image: "registry.k8s.io/pause:3.10"}}},
	}
}
