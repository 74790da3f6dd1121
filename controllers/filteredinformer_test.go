package controllers

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

func namedPod(name string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Status: corev1.PodStatus{Phase: phase}}
}

func isUnfinished(obj any) bool {
	pod, ok := obj.(*corev1.Pod)
	return !ok || pod.Status.Phase != corev1.PodSucceeded
}

func newFakeMetadata() metadatainformer.SharedInformerFactory {
	return metadatainformer.NewSharedInformerFactory(metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme()), 0)
}

// A filtered view delivers and holds what a watch with a field selector would: an object
// is added when the selector begins to select it, and deleted when it ceases to.
func TestFilteredView(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	client := fake.NewClientset(namedPod("runs", corev1.PodRunning), namedPod("done", corev1.PodSucceeded))
	factory := informers.NewSharedInformerFactory(client, 0)
	defer factory.Shutdown()
	defer cancel()
	f := &informerView{typed: factory, metadata: newFakeMetadata(), ctx: ctx}
	view := f.viewFiltered(corev1.SchemeGroupVersion.WithResource("pods"), isUnfinished)
	view.Start(nil)
	pods := view.Core().V1().Pods()

	events := make(chan string, 10)
	reg, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { events <- "add " + obj.(*corev1.Pod).Name },
		UpdateFunc: func(_, obj any) { events <- "update " + obj.(*corev1.Pod).Name },
		DeleteFunc: func(obj any) {
			gone := obj.(*corev1.Pod)
			events <- fmt.Sprintf("delete %s, %s, of version %s", gone.Name, gone.Status.Phase, gone.ResourceVersion)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), reg.HasSynced) {
		t.Fatal("not synced")
	}
	version := 1
	for _, step := range []struct {
		pod   *corev1.Pod
		event string
		left  []string
	}{
		{nil, "add runs", []string{"runs"}},
		{namedPod("runs", corev1.PodPending), "update runs", []string{"runs"}},
		{namedPod("done", corev1.PodRunning), "add done", []string{"done", "runs"}},
		{namedPod("runs", corev1.PodSucceeded), "delete runs, Pending, of version 4", []string{"done"}},
	} {
		if step.pod != nil {
			version++
			step.pod.ResourceVersion = strconv.Itoa(version)
			if _, err := client.CoreV1().Pods("default").UpdateStatus(ctx, step.pod, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if got := <-events; got != step.event {
			t.Errorf("delivered %q, want %q", got, step.event)
		}
		if diff := cmp.Diff(step.left, podsIn(t, pods.Informer().GetIndexer())); diff != "" {
			t.Errorf("after %s, the store holds (-want +got):\n%s", step.event, diff)
		}
		listed, err := pods.Lister().Pods("default").List(labels.Everything())
		if err != nil || len(listed) != len(step.left) {
			t.Errorf("after %s, the lister has %d Pods, %v", step.event, len(listed), err)
		}
	}
	if got := len(f.Core().V1().Pods().Informer().GetStore().List()); got != 2 {
		t.Errorf("%d Pods outside the view, want 2", got)
	}
	if err := f.close(); err != nil {
		t.Error(err)
	}
}

// The owner of a view is not complete before it calls Start: no handler runs, although the
// informer does. Shutdown instead of Start discards the events.
func TestFilteredViewBeginsWithStart(t *testing.T) {
	for _, starts := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		factory := informers.NewSharedInformerFactory(fake.NewClientset(namedPod("runs", corev1.PodRunning)), 0)
		f := &informerView{typed: factory, metadata: newFakeMetadata(), ctx: ctx}
		view := f.viewFiltered(corev1.SchemeGroupVersion.WithResource("pods"), isUnfinished)
		f.Core().V1().Pods().Informer()
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		complete, added := false, make(chan bool, 1)
		if _, err := view.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { added <- complete },
		}); err != nil {
			t.Fatal(err)
		}
		complete = true // the race detector reports a handler that runs before
		if starts {
			view.Start(nil)
			if !<-added {
				t.Error("a handler ran before Start")
			}
		} else {
			view.Shutdown()
		}
		if err := f.close(); err != nil {
			t.Error(err)
		}
		if !starts && len(added) > 0 {
			t.Error("an event was delivered although the owner has not started")
		}
		cancel()
		factory.Shutdown()
	}
}

// podsIn returns the names of Pods that all ways to read the store agree on.
func podsIn(t *testing.T, store cache.Indexer) []string {
	t.Helper()
	byIndex, err := store.ByIndex(cache.NamespaceIndex, "default")
	if err != nil {
		t.Fatal(err)
	}
	index, err := store.Index(cache.NamespaceIndex, namedPod("", ""))
	if err != nil {
		t.Fatal(err)
	}
	indexKeys, err := store.IndexKeys(cache.NamespaceIndex, "default")
	if err != nil {
		t.Fatal(err)
	}
	var one []string
	for _, name := range []string{"done", "runs"} {
		_, exists, err := store.Get(namedPod(name, ""))
		if err != nil {
			t.Fatal(err)
		}
		if exists {
			one = append(one, name)
		}
	}
	for _, names := range [][]string{podNames(byIndex), podNames(index), podNames(store.List()), keyNames(t, indexKeys), keyNames(t, store.ListKeys())} {
		if diff := cmp.Diff(one, names); diff != "" {
			t.Errorf("the store does not agree with its Get (-Get +other):\n%s", diff)
		}
	}
	return one
}

func podNames(objs []any) (names []string) {
	for _, obj := range objs {
		names = append(names, obj.(*corev1.Pod).Name)
	}
	slices.Sort(names)
	return names
}

func keyNames(t *testing.T, keys []string) (names []string) {
	for _, key := range keys {
		_, name, err := cache.SplitMetaNamespaceKey(key)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
