package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Many watches with a selector share the work, of a built-in kind and of a custom one. Each
// delivers every event once.
func TestManyWatchesAreShared(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	widgetGVR := establishCRD(t, widgetCRD(uniqueName("crd")))
	widgets := customClient{controlPlane.dynamic.Resource(widgetGVR).Namespace(ns)}
	templates := controlPlane.client.CoreV1().PodTemplates(ns)
	container := corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.invalid/app:1"}}}
	for resource, of := range map[string]struct {
		group  string
		list   func() (version string, err error)
		open   func(context.Context, metav1.ListOptions) (watch.Interface, error)
		create func(name string, labels map[string]string)
	}{
		"podtemplates": {"", func() (string, error) {
			list, err := templates.List(t.Context(), metav1.ListOptions{})
			return list.ResourceVersion, err
		}, templates.Watch, func(name string, labels map[string]string) {
			createObject(t, templates, &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Template: corev1.PodTemplateSpec{Spec: container}})
		}},
		widgetGVR.Resource: {widgetGVR.Group, func() (string, error) {
			list, err := widgets.List(t.Context(), metav1.ListOptions{})
			return list.GetResourceVersion(), err
		}, widgets.Watch, func(name string, labels map[string]string) {
			widget := newWidget(widgetGVR, name, 3)
			widget.SetLabels(labels)
			createObject(t, widgets, widget)
		}},
	} {
		const watches, objects = 20, 10
		now, err := of.list()
		if err != nil {
			t.Fatal(err)
		}
		var opened []watch.Interface
		for range watches {
			w, err := of.open(t.Context(), metav1.ListOptions{ResourceVersion: now, LabelSelector: "app=a"})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			opened = append(opened, w)
		}
		for i := range objects {
			of.create(fmt.Sprintf("a%d", i), map[string]string{"app": "a"})
			of.create(fmt.Sprintf("b%d", i), map[string]string{"app": "b"})
		}
		for _, w := range opened {
			for i := range objects {
				select {
				case e := <-w.ResultChan():
					if o, ok := e.Object.(metav1.Object); !ok || e.Type != watch.Added || o.GetName() != fmt.Sprintf("a%d", i) {
						t.Fatalf("%s, event %d: %s %v", resource, i, e.Type, e.Object)
					}
				case <-time.After(waitTimeout):
					t.Fatalf("%s: no event %d within %v", resource, i, waitTimeout)
				}
			}
		}
		metrics, err := controlPlane.client.RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(metrics), fmt.Sprintf("apiserver_watch_cache_initializations_total{group=%q,resource=%q}", of.group, resource)) {
			t.Errorf("%s: the watches have no cache", resource)
		}
	}
}
