package learn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// processAnnotation is an annotation of a lesson's namespace: the process that does it.
const processAnnotation = "ctrlplane/learner"

// removalTimeout is how long the end of a namespace may take.
const removalTimeout = 30 * time.Second

var namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// createNamespace makes the lesson's namespace. One that a lesson has left behind is
// removed before.
func (p *controlPlane) createNamespace(ctx context.Context, name string, further []string) error {
	old, err := p.objects.Resource(namespaceResource).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return err
	default:
		pid, err := strconv.Atoi(old.GetAnnotations()[processAnnotation])
		if err != nil {
			return fmt.Errorf("namespace %s is there, and no lesson has made it: delete it first", name)
		}
		if pid != os.Getpid() && processExists(pid) {
			return fmt.Errorf("process %d does this lesson now, in namespace %s: end that first", pid, name)
		}
		if err := p.removeNamespaces(ctx, name, further); err != nil {
			return err
		}
		if err := p.waitNamespaceGone(ctx, name); err != nil {
			return err
		}
	}
	ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	ns.SetName(name)
	ns.SetAnnotations(map[string]string{processAnnotation: strconv.Itoa(os.Getpid())})
	_, err = p.objects.Resource(namespaceResource).Create(ctx, ns, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return p.waitServiceAccount(ctx, name)
}

// waitServiceAccount returns when Pods can be made in a namespace: they need its default
// service account.
func (p *controlPlane) waitServiceAccount(ctx context.Context, namespace string) error {
	accounts := p.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}).Namespace(namespace)
	ctx, cancel := context.WithTimeoutCause(ctx, removalTimeout, errors.New("serviceaccount-controller has not made the service account of the lesson's namespace: is it paused or stopped?"))
	defer cancel()
	return pollUntil(ctx, func() (bool, error) {
		_, err := accounts.Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// pollUntil calls done until it says so; if ctx ends first the error is its cause.
func pollUntil(ctx context.Context, done func() (bool, error)) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		ok, err := done()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case ok || err != nil:
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}
