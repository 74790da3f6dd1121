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

func (a *api) config() *rest.Config {
	return &rest.Config{Host: a.url, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf}}
}

// manyOnNodes adds many nodes, runs many Pods on them, and then leaves them alone.
func manyOnNodes(ctx context.Context, m *meter, a *api) error {
	core, err := coreclient.NewForConfigAndClient(a.config(), a.client)
	if err != nil {
		return err
	}
	nodes, err := follow(ctx, core.Nodes().Watch)
	if err != nil {
		return err
	}
	defer nodes.Stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := time.Now()
	go func() {
		for range manyNodes / 100 { // as "nodes add" does
			if err := a.request(ctx, http.MethodPost, "/ctrlplane/v1/nodes?count=100", ""); err != nil {
				cancel(err)
				return
			}
		}
	}()
	if err := count(ctx, nodes, manyNodes, nodeReady); err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	m.seconds("nodesReady", time.Since(began))
	if err := runPods(ctx, m, a, core); err != nil {
		return err
	}
	return m.leaveAlone(ctx)
}

func runPods(ctx context.Context, m *meter, a *api, core *coreclient.CoreV1Client) error {
	const ns = "many"
	if err := a.awaitNamespace(ctx, ns); err != nil {
		return err
	}
	pods, err := follow(ctx, core.Pods(ns).Watch)
	if err != nil {
		return err
	}
	defer pods.Stop()
	cpu, began := m.plane.stopwatch(), time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for first := range creators {
		go func() {
			for i := first; i < manyPods; i += creators {
				if _, err := core.Pods(ns).Create(ctx, smallPod(i), metav1.CreateOptions{}); err != nil {
					cancel(err)
					return
				}
			}
		}()
	}
	if err := count(ctx, pods, manyPods, podReady); err != nil {
		return fmt.Errorf("Pods: %w", err)
	}
	m.seconds("podsReady", time.Since(began))
	used, err := cpu()
	return m.told("podsCPU", used.Seconds(), err)
}

// burstOnNodes is the burst of the comparison, until its Pods are Ready.
func burstOnNodes(ctx context.Context, m *meter, a *api) error {
	b := burst{100, 10}
	apps, err := appsclient.NewForConfigAndClient(a.config(), a.client)
	if err != nil {
		return err
	}
	core, err := coreclient.NewForConfigAndClient(a.config(), a.client)
	if err != nil {
		return err
	}
	const ns = "deployments"
	if err := a.awaitNamespace(ctx, ns); err != nil {
		return err
	}
	pods, err := follow(ctx, core.Pods(ns).Watch)
	if err != nil {
		return err
	}
	defer pods.Stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := time.Now()
	go func() {
		if err := b.create(ctx, apps.Deployments(ns)); err != nil {
			cancel(err)
		}
	}()
	if err := count(ctx, pods, b.deployments*b.replicas, podReady); err != nil {
		return fmt.Errorf("%s: Pods: %w", b, err)
	}
	m.seconds("ready", time.Since(began))
	return nil
}

func smallPod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%05d", i)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "pause", Image: "registry.k8s.io/pause:3.10"}}},
	}
}

func nodeReady(o runtime.Object) bool {
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

// podReady is whether a Pod runs and is Ready.
func podReady(o runtime.Object) bool {
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
