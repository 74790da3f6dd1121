package ctrlplanetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/internal/kinds"
)

const (
	deleteWorkers  = 16                    // concurrent requests
	deleteInterval = 25 * time.Millisecond // between two passes over what is left
	maxLeftovers   = 5                     // objects that an error names
)

// deleteNamespace deletes a namespace and returns when it is gone. The contents are
// deleted at once: the namespace controller begins a tenth of a second later. It
// removes the finalizer, because it waits for the writes in flight: what they store
// would outlive the namespace. If it does not run, or an intervention delays its calls
// or makes them fail, the finalizer is removed here.
func (p *ControlPlane) deleteNamespace(ctx context.Context, name string) error {
	namespaces := p.client.CoreV1().Namespaces()
	err := namespaces.Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return preferCause(ctx, err)
	}
	if err := p.deleteContents(ctx, name); err != nil {
		return err
	}
	finalizes, err := p.isUndisturbed(ctx, controllernames.Namespace)
	if err == nil && !finalizes {
		err = p.finalizeNamespace(ctx, name)
	}
	if err != nil {
		return err
	}
	return p.awaitNamespaceGone(ctx, name)
}

// finalizeNamespace removes the finalizer that the namespace controller would remove.
func (p *ControlPlane) finalizeNamespace(ctx context.Context, name string) error {
	namespaces := p.client.CoreV1().Namespaces()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		ns, err := namespaces.Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
			_, err = namespaces.Finalize(ctx, ns, metav1.UpdateOptions{})
		}
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // the namespace controller may have started
		return preferCause(ctx, err)
	}
	return nil
}

// deleteContents deletes everything in a namespace and returns when it is gone.
func (p *ControlPlane) deleteContents(ctx context.Context, namespace string) error {
	resources, err := kinds.Namespaced(ctx, p.client.DiscoveryClient, "list", "delete")
	if err != nil {
		return fmt.Errorf("discover the API: %w", preferCause(ctx, err))
	}
	tick := time.NewTicker(deleteInterval)
	defer tick.Stop()
	for {
		left, err := p.deleteContentsOnce(ctx, namespace, resources)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%w%s", context.Cause(ctx), p.describeLeftovers(context.WithoutCancel(ctx), namespace, resources))
		case err != nil:
			return err
		case len(left) == 0:
			return nil
		}
		resources = left // only writes in flight can store more in a namespace that is being deleted
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// deleteContentsOnce deletes the objects of the given resources and returns the
// resources that had any.
func (p *ControlPlane) deleteContentsOnce(ctx context.Context, namespace string, resources []schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	var mu sync.Mutex
	var left []schema.GroupVersionResource
	var all errgroup.Group
	all.SetLimit(deleteWorkers)
	for _, gvr := range resources {
		all.Go(func() error {
			there, err := p.deleteResource(ctx, namespace, gvr)
			mu.Lock()
			defer mu.Unlock()
			if there {
				left = append(left, gvr)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", gvr.GroupResource(), err)
			}
			return nil
		})
	}
	err := all.Wait()
	return left, err
}

// deleteResource deletes all objects of a resource and reports whether there were any.
func (p *ControlPlane) deleteResource(ctx context.Context, namespace string, gvr schema.GroupVersionResource) (there bool, err error) {
	client := p.dynamic.Resource(gvr).Namespace(namespace)
	list, err := client.List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return false, nil // its CustomResourceDefinition has just been deleted
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

// describeLeftovers returns a line for each object that is left in a namespace, with
// the reason.
func (p *ControlPlane) describeLeftovers(ctx context.Context, namespace string, resources []schema.GroupVersionResource) string {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	var text strings.Builder
	n, why := 0, p.health.WhyOf(ctx)
	for _, gvr := range resources {
		list, err := p.dynamic.Resource(gvr).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			fmt.Fprintf(&text, "\n    %s: cannot be listed: %v", gvr.GroupResource(), err)
			continue
		}
		for i := range list.Items {
			if n++; n <= maxLeftovers {
				fmt.Fprintf(&text, "\n    %s: %s", kindAndName(&list.Items[i]), why(&list.Items[i]))
			}
		}
	}
	if n > maxLeftovers {
		fmt.Fprintf(&text, "\n    and %d more", n-maxLeftovers)
	}
	if strings.Contains(text.String(), "finalizer") {
		text.WriteString("\n    does the controller that removes the finalizers run until the namespace is deleted?")
	}
	return text.String()
}

func kindAndName(u *unstructured.Unstructured) string { return u.GetKind() + " " + u.GetName() }
