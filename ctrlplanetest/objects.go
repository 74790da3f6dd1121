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

// Object is an object of the API, as client-go and controller-runtime have it.
type Object interface {
	metav1.Object
	runtime.Object
}

// Apply applies files and folders of manifests by server-side apply, and returns
// the objects that are in them. Those that name no namespace, and need one, go
// into the namespace that Namespace made for this test, else into "default".
func (p *ControlPlane) Apply(t testing.TB, paths ...string) []Object {
	t.Helper()
	loaded, err := manifests.Load(paths)
	if err != nil {
		t.Fatalf("ctrlplanetest: %v", err)
	}
	objects := make([]Object, len(loaded))
	for i, o := range loaded {
		if o.GetNamespace() == "" {
			o.SetNamespace(p.namespaceOf(t)) // it says nothing on what needs none
		}
		objects[i] = o.Unstructured
	}
	ctx, stop := p.testContext(t)
	defer stop()
	if err := manifests.Apply(ctx, p.config, loaded); err != nil {
		t.Fatalf("ctrlplanetest: %v", err)
	}
	return objects
}

// ObjectsByName are objects that WaitHealthy and WaitGone are given by KIND/NAME, as
// kubectl takes them, in the test's namespace.
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

// WaitHealthy returns when all objects are healthy at the same time, by kstatus'
// rules: Deployments rolled out, Jobs complete or running, custom resources by
// their conditions. Else the test fails with the reason a person would look for.
// Of an object only its kind, namespace and name matter; it need not be there yet.
// A custom resource without any condition is healthy as soon as it is there: have
// its CustomResourceDefinition begin with one that is Unknown, as a default.
func (p *ControlPlane) WaitHealthy(t testing.TB, objects ...Object) {
	t.Helper()
	p.waitForObjects(t, objects, health.Options{})
}

// WaitGone returns when none of the objects is there any more.
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

// objectRefs names objects. Those of types that the scheme knows need not say what
// they are, and as clients return them they do not.
func objectRefs(types *runtime.Scheme, objects []Object) ([]health.Ref, error) {
	refs := make([]health.Ref, len(objects))
	for i, o := range objects {
		gvk := o.GetObjectKind().GroupVersionKind()
		if gvk.Empty() {
			known, _, err := types.ObjectKinds(o)
			if err != nil {
				return nil, fmt.Errorf("%T %s does not say what it is: set Options.Scheme, or its apiVersion and kind", o, o.GetName())
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

// retryHorizon is how far ahead a retry still counts as something to do.
const retryHorizon = time.Second

// WaitSettled returns when no controller has anything left to do, as far as can be
// seen: no key queued, worked on or about to be tried again. Else the test fails
// with who is busy. All namespaces count: tests beside this one delay it.
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
