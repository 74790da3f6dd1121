package learn

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
)

// removalTimeout is how long the deletion of a namespace may take.
const removalTimeout = 30 * time.Second

var namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// createNamespace creates the lesson's namespace. If an earlier run left one behind, it
// is deleted first. created is whether there may be one to clean up, also after an error.
func (p *controlPlane) createNamespace(ctx context.Context, name string, further []string) (created bool, err error) {
	old, err := p.objects.Resource(namespaceResource).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return false, err
	default:
		if err := checkLeftBehind(name, old.GetAnnotations()); err != nil {
			return false, err
		}
		if err := p.removeNamespaces(ctx, name, further); err != nil {
			return false, err
		}
		if err := p.waitNamespaceGone(ctx, name); err != nil {
			return false, err
		}
	}
	ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	ns.SetName(name)
	ns.SetAnnotations(learnerAnnotations())
	_, err = p.objects.Resource(namespaceResource).Create(ctx, ns, metav1.CreateOptions{})
	if err != nil {
		_, refused := errors.AsType[*apierrors.StatusError](err)
		return !refused, err // a request that was interrupted may have been carried out
	}
	return true, p.waitServiceAccount(ctx, name)
}

// waitServiceAccount waits until a namespace has its default service account, which
// Pods need.
func (p *controlPlane) waitServiceAccount(ctx context.Context, namespace string) error {
	accounts := p.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}).Namespace(namespace)
	ctx, cancel := context.WithTimeoutCause(ctx, removalTimeout, errors.New("serviceaccount-controller has not created the service account of the lesson's namespace: check that it is not paused or stopped"))
	defer cancel()
	return pollUntil(ctx, func() (bool, error) {
		_, err := accounts.Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// pollUntil calls done until it returns true. If ctx ends first, it returns the cause.
func pollUntil(ctx context.Context, done func() (bool, error)) error {
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(context.Context) (bool, error) { return done() })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
