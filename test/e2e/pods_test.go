package e2e_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// podTemplate returns the template of a Pod with one container, which nothing runs.
func podTemplate(labels map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.invalid/app:1"}}},
	}
}

func newPod(name string, labels map[string]string) *corev1.Pod {
	tmpl := podTemplate(labels)
	tmpl.ObjectMeta.Name = name
	return &corev1.Pod{ObjectMeta: tmpl.ObjectMeta, Spec: tmpl.Spec}
}

func labelSelector(labels map[string]string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: labels}
}

func pods(ns string) corev1client.PodInterface { return controlPlane.client.CoreV1().Pods(ns) }

// awaitPods waits until the given number of Pods match and none is being deleted, and
// returns them by age and name.
func awaitPods(t *testing.T, ns, selector string, want int) []corev1.Pod {
	t.Helper()
	l := await(t, fmt.Sprintf("%d pods %q", want, selector), listBySelector(pods(ns), selector), func(l *corev1.PodList) bool {
		leaving := slices.ContainsFunc(l.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
		return len(l.Items) == want && !leaving
	})
	slices.SortFunc(l.Items, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return l.Items
}

var lastPodAddress atomic.Uint32

// markReady acts as the kubelet: the Pods run, are ready and have an address.
func markReady(t *testing.T, list ...corev1.Pod) {
	t.Helper()
	for _, p := range list {
		updateObjectStatus(t, pods(p.Namespace), p.Name, setReady)
	}
}

func setReady(p *corev1.Pod) {
	n := lastPodAddress.Add(1)
	p.Status.Phase = corev1.PodRunning
	p.Status.StartTime = new(oneHourAgo())
	p.Status.PodIP = fmt.Sprintf("10.200.%d.%d", n/250, n%250+1)
	p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: oneHourAgo()},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: oneHourAgo()},
	}
}

// markPhase acts as the kubelet: all containers of the Pods have terminated.
func markPhase(t *testing.T, phase corev1.PodPhase, list ...corev1.Pod) {
	t.Helper()
	for _, p := range list {
		updateObjectStatus(t, pods(p.Namespace), p.Name, func(p *corev1.Pod) {
			p.Status.Phase = phase
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}}
		})
	}
}

// watchPods calls act for each change of a Pod in the namespace, one after the other,
// until the test ends. act must not call FailNow.
func watchPods(t *testing.T, ns string, act func(context.Context, watch.EventType, *corev1.Pod)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w, err := pods(ns).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		cancel()
		t.Fatalf("watch pods: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for e := range w.ResultChan() {
			if p, ok := e.Object.(*corev1.Pod); ok {
				act(ctx, e.Type, p)
			}
		}
	}()
	t.Cleanup(func() { cancel(); w.Stop(); <-ended })
}
