package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/ctrlplane/ctrlplane/internal/listwatch"
)

// The load of informers: Pods that nothing schedules, and updates of them, many at a time and
// then one at a time.
const (
	informerCount, informerPods, informerUpdates, informerSingleUpdates = 100, 100, 200, 100

	informerSelector = "app=watched"
)

// measureInformers updates Pods that many informers with a label selector follow, until
// each informer has each update.
func measureInformers(ctx context.Context, m *measurement, a *apiClient) error {
	core, err := coreclient.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return err
	}
	const ns = "informers"
	if err := a.awaitNamespace(ctx, ns); err != nil {
		return err
	}
	pods := core.Pods(ns)
	for i := range informerPods {
		if _, err := pods.Create(ctx, newWatchedPod(i), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	events := make(chan struct{}, informerCount)
	stop, err := startInformers(ctx, a, ns, events)
	if err != nil {
		return err
	}
	defer stop()
	update := func(ctx context.Context, i int) error {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"bench/update":"%d"}}}`, i)
		_, err := pods.Patch(ctx, newWatchedPod(i%informerPods).Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
	cpu := m.controlPlane.startCPUTimer()
	began := time.Now()
	err = inParallel(ctx, informerUpdates, update, func(ctx context.Context) error {
		return awaitInformers(ctx, events, informerUpdates)
	})
	if err != nil {
		return err
	}
	m.recordSeconds("seen", time.Since(began))
	if err := m.recordCPU("cpu", cpu); err != nil {
		return err
	}
	if err := m.recordRSS("rss"); err != nil {
		return err
	}
	var took []float64
	for i := range informerSingleUpdates {
		began := time.Now()
		if err := update(ctx, informerUpdates+i); err != nil {
			return err
		}
		if err := awaitInformers(ctx, events, 1); err != nil {
			return err
		}
		took = append(took, float64(time.Since(began))/float64(time.Millisecond))
	}
	m.values["latency"], m.values["latencyP99"] = quantile(took, 0.50), quantile(took, 0.99)
	return nil
}

// measureInformers records the same with the name of the part, as a control plane that is measured as a
// whole has an RSS of its own.
func (m *measurement) measureInformers(ctx context.Context, a *apiClient) error {
	part := *m
	part.values = map[string]float64{}
	err := measureInformers(ctx, &part, a)
	for key, value := range part.values {
		m.values["informers/"+key] = value
	}
	return err
}

// awaitInformers waits until all informers have seen so many updates more.
func awaitInformers(ctx context.Context, events <-chan struct{}, updates int) error {
	for range informerCount * updates {
		select {
		case <-events:
		case <-ctx.Done():
			return fmt.Errorf("informers: %w", context.Cause(ctx))
		}
	}
	return nil
}

// startInformers starts the informers, each with a connection of its own, and returns when
// they have synced. Each sends to events for each update that it receives.
func startInformers(ctx context.Context, a *apiClient, ns string, events chan<- struct{}) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	var transports []*http.Transport
	end := func() {
		cancel()
		running.Wait()
		for _, t := range transports {
			t.CloseIdleConnections()
		}
	}
	defer func() {
		if err != nil {
			end()
		}
	}()
	var synced []cache.InformerSynced
	for range informerCount {
		transport := a.transport.Clone()
		transports = append(transports, transport)
		own, err := coreclient.NewForConfigAndClient(a.restConfig(), &http.Client{Transport: transport})
		if err != nil {
			return nil, err
		}
		informer := newPodInformer(own.Pods(ns), func() {
			select {
			case events <- struct{}{}:
			case <-ctx.Done():
			}
		})
		running.Go(func() { informer.RunWithContext(ctx) })
		synced = append(synced, informer.HasSynced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil, fmt.Errorf("informers: %w", context.Cause(ctx))
	}
	return end, nil
}

// newPodInformer returns an informer of the watched Pods that calls updated with each
// version after the first.
func newPodInformer(pods coreclient.PodInterface, updated func()) cache.Controller {
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: listwatch.New(pods, informerSelector, ""),
		ObjectType:    &corev1.Pod{},
		Handler:       cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { updated() }},
	})
	return informer
}

// newWatchedPod returns a Pod that no scheduler takes.
func newWatchedPod(i int) *corev1.Pod {
	pod := newPod(i)
	pod.Labels = map[string]string{"app": "watched"}
	pod.Spec.SchedulerName = "none"
	return pod
}
