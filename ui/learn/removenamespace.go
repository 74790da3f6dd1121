package learn

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
)

// removeNamespaces deletes the lesson's namespaces and waits until they are empty.
// namespace-controller deletes the namespaces themselves later. Foreign finalizers are
// removed, because no controller in the lesson would remove them.
func (p *controlPlane) removeNamespaces(ctx context.Context, name string, further []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, removalTimeout, fmt.Errorf("the objects in namespace %s were not deleted within %v", name, removalTimeout))
	defer cancel()
	all := []string{name}
	for _, f := range further {
		all = append(all, name+"-"+f)
	}
	for _, ns := range all {
		err := p.objects.Resource(namespaceResource).Delete(ctx, ns, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	resources, err := kinds.Namespaced(ctx, p.served, "list", "patch", "deletecollection")
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return err
	}
	atOnce, background := int64(0), metav1.DeletePropagationBackground
	for _, ns := range all {
		for _, r := range resources {
			err := p.objects.Resource(r).Namespace(ns).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &atOnce, PropagationPolicy: &background}, metav1.ListOptions{})
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsMethodNotSupported(err) {
				return fmt.Errorf("%s: %w", r.Resource, err)
			}
		}
	}
	return pollUntil(ctx, func() (bool, error) {
		left := 0
		for _, ns := range all {
			for _, r := range resources {
				n, err := p.removeFinalizers(ctx, r, ns)
				if err != nil {
					return false, err
				}
				left += n
			}
		}
		return left == 0, nil
	})
}

// waitNamespaceGone waits until the namespace does not exist.
func (p *controlPlane) waitNamespaceGone(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, removalTimeout, fmt.Errorf("namespace %s was not deleted within %v: check that namespace-controller is not paused or stopped", name, removalTimeout))
	defer cancel()
	return pollUntil(ctx, func() (bool, error) {
		_, err := p.objects.Resource(namespaceResource).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}

// removeFinalizers removes the finalizers of objects that are being deleted if some are
// foreign, and returns the number of remaining objects.
func (p *controlPlane) removeFinalizers(ctx context.Context, resource schema.GroupVersionResource, namespace string) (int, error) {
	client := p.objects.Resource(resource).Namespace(namespace)
	list, err := client.List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return 0, nil // its kind was deleted in the meantime
	}
	if err != nil {
		return 0, err
	}
	for _, o := range list.Items {
		if o.GetDeletionTimestamp() == nil || !slices.ContainsFunc(o.GetFinalizers(), isForeignFinalizer) {
			continue
		}
		_, err := client.Patch(ctx, o.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return 0, err
		}
	}
	return len(list.Items), nil
}

// isForeignFinalizer reports whether no controller of Kubernetes removes a finalizer.
func isForeignFinalizer(finalizer string) bool {
	domain, _, ok := strings.Cut(finalizer, "/")
	return ok && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io")
}
