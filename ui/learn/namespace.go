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

// learnerKey is an annotation of a lesson's namespace: the process that does it.
const learnerKey = "ctrlplane/learner"

// goneTime is how long the end of a namespace may take.
const goneTime = 30 * time.Second

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// claim makes the lesson's namespace. One that a lesson has left behind is
// removed before.
func (p *plane) claim(ctx context.Context, name string, further []string) error {
	old, err := p.objects.Resource(namespaces).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return err
	default:
		pid, err := strconv.Atoi(old.GetAnnotations()[learnerKey])
		if err != nil {
			return fmt.Errorf("namespace %s is there, and no lesson has made it: delete it first", name)
		}
		if pid != os.Getpid() && alive(pid) {
			return fmt.Errorf("process %d does this lesson now, in namespace %s: end that first", pid, name)
		}
		if err := p.remove(ctx, name, further); err != nil {
			return err
		}
		if err := p.gone(ctx, name); err != nil {
			return err
		}
	}
	ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	ns.SetName(name)
	ns.SetAnnotations(map[string]string{learnerKey: strconv.Itoa(os.Getpid())})
	_, err = p.objects.Resource(namespaces).Create(ctx, ns, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return p.populated(ctx, name)
}

// populated returns when Pods can be made in a namespace: they need its default
// service account.
func (p *plane) populated(ctx context.Context, namespace string) error {
	accounts := p.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}).Namespace(namespace)
	ctx, cancel := context.WithTimeoutCause(ctx, goneTime, errors.New("serviceaccount-controller has not made the service account of the lesson's namespace: is it paused or stopped?"))
	defer cancel()
	return poll(ctx, func() (bool, error) {
		_, err := accounts.Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// poll calls done until it says so; if ctx ends first the error is its cause.
func poll(ctx context.Context, done func() (bool, error)) error {
	ticker := time.NewTicker(lookTime)
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
