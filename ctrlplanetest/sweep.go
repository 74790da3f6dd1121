package ctrlplanetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

const (
	sweepers  = 16                    // requests at a time
	sweepTime = 25 * time.Millisecond // between two looks
	mostLeft  = 5                     // objects that an error names
)

// deleteNamespace returns when the namespace and all in it is gone. Upstream's
// controller waits five seconds before it begins, for other API servers to learn
// of the deletion. Here is one: so what it would delete is deleted at once.
func (p *Plane) deleteNamespace(ctx context.Context, name string) error {
	namespaces := p.client.CoreV1().Namespaces()
	err := namespaces.Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return because(ctx, err)
	}
	if err := p.sweep(ctx, name); err != nil {
		return err
	}
	ns, err := namespaces.Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
		_, err = namespaces.Finalize(ctx, ns, metav1.UpdateOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // by now upstream's controller may have done it
		return because(ctx, err)
	}
	return p.namespaceGone(ctx, name)
}

// sweep deletes all that is in a namespace and returns when it is gone.
func (p *Plane) sweep(ctx context.Context, namespace string) error {
	lists, err := discovery.ServerPreferredNamespacedResourcesWithContext(ctx, p.client.DiscoveryClient)
	if err != nil {
		return fmt.Errorf("ask what the API server serves: %w", because(ctx, err))
	}
	resources := listable(lists, "delete")
	tick := time.NewTicker(sweepTime)
	defer tick.Stop()
	for {
		left, err := p.sweepOnce(ctx, namespace, resources)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%w%s", context.Cause(ctx), p.leftIn(context.WithoutCancel(ctx), namespace, resources))
		case err != nil:
			return err
		case len(left) == 0:
			return nil
		}
		resources = left // nothing can be made in a namespace that ends
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// sweepOnce deletes what there is of some resources, and returns those of which
// there was something.
func (p *Plane) sweepOnce(ctx context.Context, namespace string, resources []schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	var mu sync.Mutex
	var left []schema.GroupVersionResource
	var failed error
	each(resources, func(gvr schema.GroupVersionResource) {
		there, err := p.sweepResource(ctx, namespace, gvr)
		mu.Lock()
		defer mu.Unlock()
		if there {
			left = append(left, gvr)
		}
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", gvr.GroupResource(), err)
		}
	})
	return left, failed
}

// each calls f for all resources, some at a time.
func each(resources []schema.GroupVersionResource, f func(schema.GroupVersionResource)) {
	var all sync.WaitGroup
	defer all.Wait()
	free := make(chan struct{}, sweepers)
	for _, gvr := range resources {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			f(gvr)
		})
	}
}

// sweepResource tells whether there is anything of a resource, and deletes it.
func (p *Plane) sweepResource(ctx context.Context, namespace string, gvr schema.GroupVersionResource) (there bool, err error) {
	client := p.dynamic.Resource(gvr).Namespace(namespace)
	list, err := client.List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return false, nil // its CustomResourceDefinition has just gone
	}
	if err != nil {
		return true, err
	}
	background := metav1.DeletePropagationBackground
	for i := range list.Items {
		if list.Items[i].GetDeletionTimestamp() != nil {
			continue
		}
		err := client.Delete(ctx, list.Items[i].GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
		if err != nil && !apierrors.IsNotFound(err) {
			return true, err
		}
	}
	return len(list.Items) > 0, nil
}

// leftIn says what is left in a namespace, and why.
func (p *Plane) leftIn(ctx context.Context, namespace string, resources []schema.GroupVersionResource) string {
	ctx, cancel := context.WithTimeout(ctx, explainTime)
	defer cancel()
	var text strings.Builder
	n := 0
	for _, gvr := range resources {
		list, err := p.dynamic.Resource(gvr).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			fmt.Fprintf(&text, "\n    %s: what is left is not known: %v", gvr.GroupResource(), err)
			continue
		}
		for i := range list.Items {
			if n++; n <= mostLeft {
				fmt.Fprintf(&text, "\n    %s: %s", nameOf(&list.Items[i]), p.health.Why(ctx, &list.Items[i]))
			}
		}
	}
	if n > mostLeft {
		fmt.Fprintf(&text, "\n    and %d more", n-mostLeft)
	}
	if strings.Contains(text.String(), "finalizer") {
		text.WriteString("\n    does the controller that takes finalizers away run until the namespace is deleted?")
	}
	return text.String()
}

func nameOf(u *unstructured.Unstructured) string { return u.GetKind() + " " + u.GetName() }
