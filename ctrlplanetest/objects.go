package ctrlplanetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
)

// Object is an API object, as in client-go and controller-runtime.
type Object interface {
	metav1.Object
	runtime.Object
}

// Apply applies manifest files and folders with server-side apply and returns their
// objects as the server has stored them: read one again before you update it, controllers may
// have changed it. Subfolders are not read. Namespaced objects without a namespace go into the
// namespace that Namespace created for this test, else into "default".
func (p *ControlPlane) Apply(t testing.TB, paths ...string) []Object {
	t.Helper()
	ctx, stop := p.testContext(t)
	defer stop()
	loaded, err := manifests.Load(ctx, paths)
	if err != nil {
		t.Fatalf("ctrlplanetest: %v", err)
	}
	for _, o := range loaded {
		if o.GetNamespace() == "" {
			o.SetNamespace(p.namespaceOf(t)) // ignored for kinds without namespaces
		}
	}
	stored, err := manifests.Apply(ctx, p.own, loaded)
	if err != nil {
		t.Fatalf("ctrlplanetest: %v", err)
	}
	objects := make([]Object, len(stored))
	for i, o := range stored {
		objects[i] = o.Unstructured
	}
	return objects
}

// ObjectsByName returns objects for WaitHealthy and WaitGone, given as KIND/NAME like
// to kubectl, in the test's namespace. They need not exist.
func (p *ControlPlane) ObjectsByName(t testing.TB, names ...string) []Object {
	t.Helper()
	ctx, stop := p.testContext(t)
	defer stop()
	refs, err := p.health.Refs(ctx, p.namespaceOf(t), names)
	if err != nil {
		t.Fatalf("ctrlplanetest: %v", preferCause(ctx, err))
	}
	objects := make([]Object, len(refs))
	for i, r := range refs {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(r.GroupVersionKind)
		u.SetNamespace(r.Namespace)
		u.SetName(r.Name)
		objects[i] = u
	}
	return objects
}

// WaitHealthy returns when all objects are healthy at the same time, by the rules of
// kstatus: Deployments rolled out, Jobs complete or running, custom resources by
// their conditions. Otherwise the test fails with the reasons. Of an object only
// its kind, namespace and name matter; it need not exist yet. A custom resource
// without conditions is healthy as soon as it exists: let its
// CustomResourceDefinition set a condition with status Unknown by default.
func (p *ControlPlane) WaitHealthy(t testing.TB, objects ...Object) {
	t.Helper()
	p.waitForObjects(t, objects, health.Options{Records: p.control})
}

// WaitGone returns when none of the objects exists any more.
func (p *ControlPlane) WaitGone(t testing.TB, objects ...Object) {
	t.Helper()
	p.waitForObjects(t, objects, health.Options{Gone: true})
}

func (p *ControlPlane) waitForObjects(t testing.TB, objects []Object, o health.Options) {
	t.Helper()
	refs, err := objectRefs(p.options.Scheme, objects)
	if err != nil {
		t.Fatalf("ctrlplanetest: %v", err)
	}
	ctx, stop := p.testContext(t)
	defer stop()
	err = p.health.Wait(ctx, refs, o)
	if bad, ok := errors.AsType[*health.NotHealthyError](err); ok {
		var lines strings.Builder
		for _, u := range bad.Objects {
			fmt.Fprintf(&lines, "\n    %s: %s", u.Ref, u.Reason)
		}
		t.Fatalf("ctrlplanetest: %v%s", err, &lines)
	}
	if err != nil {
		t.Fatalf("ctrlplanetest: %v", err)
	}
}

// objectRefs returns references to objects. Objects whose type is in the scheme need
// no apiVersion and kind; typed clients return them without.
func objectRefs(types *runtime.Scheme, objects []Object) ([]health.Ref, error) {
	refs := make([]health.Ref, len(objects))
	for i, o := range objects {
		gvk := o.GetObjectKind().GroupVersionKind()
		if gvk.Empty() {
			known, _, err := types.ObjectKinds(o)
			if err != nil {
				return nil, fmt.Errorf("%T %s has no kind and its type is not in the scheme: set Options.Scheme, or its apiVersion and kind", o, o.GetName())
			}
			gvk = known[0]
		}
		if o.GetName() == "" {
			return nil, fmt.Errorf("a %s has no name", gvk.Kind)
		}
		refs[i] = health.Ref{GroupVersionKind: gvk, Namespace: o.GetNamespace(), Name: o.GetName()}
	}
	return refs, nil
}

// retryHorizon is how soon a retry must be due to count as pending work.
const retryHorizon = time.Second

// WaitSettled returns when no controller has work left: no key queued, in flight or
// to be retried within a second. Otherwise the test fails and lists the busy controllers. It
// covers all namespaces, so tests in parallel delay it.
//
// Of an operator it knows the keys only if that uses instrument.Manager of the module
// github.com/ctrlplane/ctrlplane/instrument; else it does not wait for the operator. Nor does it
// wait for what fails again and again and is retried later than in a second, or for a program that
// sleeps for more than 20 ms between two writes. Use WaitHealthy and
// WaitGone for objects whose state the test needs.
func (p *ControlPlane) WaitSettled(t testing.TB) {
	t.Helper()
	ctx, stop := p.testContext(t)
	defer stop()
	if err := p.waitUntilSettled(ctx); err != nil {
		t.Fatalf("ctrlplanetest: %v", err)
	}
}

func (p *ControlPlane) waitUntilSettled(ctx context.Context) error {
	err := settled.Wait(ctx, p.control, retryHorizon, nil)
	if busy, ok := errors.AsType[*settled.BusyError](err); ok {
		for _, w := range busy.Work {
			err = fmt.Errorf("%w\n    %s", err, w)
		}
	}
	return err
}
