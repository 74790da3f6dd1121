package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

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

// measureManyPods adds many nodes, runs many Pods on them, and measures the idle state.
func measureManyPods(ctx context.Context, m *measurement, a *apiClient) error {
	core, err := coreclient.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return err
	}
	nodes, err := startWatch(ctx, core.Nodes().Watch)
	if err != nil {
		return err
	}
	defer nodes.Stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := time.Now()
	go func() {
		for range manyNodes / 100 { // in batches, as "nodes add" does
			if err := a.sendRequest(ctx, http.MethodPost, "/ctrlplane/v1/nodes?count=100", ""); err != nil {
				cancel(err)
				return
			}
		}
	}()
	if err := awaitCount(ctx, nodes, manyNodes, isNodeReady); err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	m.recordSeconds("nodesReady", time.Since(began))
	if err := measurePods(ctx, m, a, core); err != nil {
		return err
	}
	return m.measureIdle(ctx)
}

func measurePods(ctx context.Context, m *measurement, a *apiClient, core *coreclient.CoreV1Client) error {
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
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for first := range parallelClients {
		go func() {
			for i := first; i < manyPods; i += parallelClients {
				if _, err := core.Pods(ns).Create(ctx, newPod(i), metav1.CreateOptions{}); err != nil {
					cancel(err)
					return
				}
			}
		}()
	}
	if err := awaitCount(ctx, pods, manyPods, isPodReady); err != nil {
		return fmt.Errorf("Pods: %w", err)
	}
	m.recordSeconds("podsReady", time.Since(began))
	used, err := cpu()
	return m.recordIfSupported("podsCPU", used.Seconds(), err)
}

// measureBurstOnNodes creates the small burst and waits until its Pods are Ready.
func measureBurstOnNodes(ctx context.Context, m *measurement, a *apiClient) error {
	b := burst{100, 10}
	apps, err := appsclient.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return err
	}
	core, err := coreclient.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return err
	}
	const ns = "deployments"
	if err := a.awaitNamespace(ctx, ns); err != nil {
		return err
	}
	pods, err := startWatch(ctx, core.Pods(ns).Watch)
	if err != nil {
		return err
	}
	defer pods.Stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := time.Now()
	go func() {
		if err := b.createDeployments(ctx, apps.Deployments(ns)); err != nil {
			cancel(err)
		}
	}()
	if err := awaitCount(ctx, pods, b.deployments*b.replicas, isPodReady); err != nil {
		return fmt.Errorf("%s: Pods: %w", b, err)
	}
	m.recordSeconds("ready", time.Since(began))
	return nil
}

func newPod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%05d", i)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "pause", Image: "registry.k8s.io/pause:3.10"}}},
	}
}

func isNodeReady(o runtime.Object) bool {
	node, ok := o.(*corev1.Node)
	if !ok {
		return false
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// isPodReady reports whether a Pod is Running and Ready.
func isPodReady(o runtime.Object) bool {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.Status.Phase != corev1.PodRunning {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
