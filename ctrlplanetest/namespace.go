package ctrlplanetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// testAnnotation has the name of the test that a Namespace belongs to.
const testAnnotation = "ctrlplane.local/test"

var (
	namespaceKind      = corev1.SchemeGroupVersion.WithKind("Namespace")
	serviceAccountKind = corev1.SchemeGroupVersion.WithKind("ServiceAccount")
)

// Namespace creates a namespace for the test, in which Pods can be created at once,
// and returns its name. When the test ends, the namespace is deleted with
// everything in it. If that fails, the test fails with what is left.
//
// A controller under test that has to remove finalizers must run until then: start
// it before, and stop it in a Cleanup. t.Context() ends too early.
func (p *ControlPlane) Namespace(t testing.TB) string {
	t.Helper()
	ctx, stop := p.testContext(t)
	defer stop()
	ns, err := p.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: namespacePrefix(t.Name()),
		Annotations:  map[string]string{testAnnotation: t.Name()},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("ctrlplanetest: create namespace: %v", preferCause(ctx, err))
	}
	p.setNamespace(t, ns.Name)
	t.Cleanup(func() { p.endNamespace(t, ns.Name) })
	if err := p.awaitPodAdmission(ctx, ns.Name); err != nil {
		t.Fatalf("ctrlplanetest: namespace %s: %v", ns.Name, err)
	}
	return ns.Name
}

// awaitPodAdmission returns when Pods are admitted to a namespace, which needs a
// ServiceAccount. It does not wait if no controller creates one.
func (p *ControlPlane) awaitPodAdmission(ctx context.Context, namespace string) error {
	creates, err := p.isRunning(ctx, controllernames.ServiceAccount)
	if err != nil || !creates {
		return err
	}
	return p.health.Wait(ctx, []health.Ref{{GroupVersionKind: serviceAccountKind, Namespace: namespace, Name: "default"}}, health.Options{})
}

// isRunning reports whether a controller of the control plane runs and is not paused.
func (p *ControlPlane) isRunning(ctx context.Context, controller string) (bool, error) {
	return p.hasController(ctx, func(c control.Controller) bool {
		return c.Name == controller && c.State == observe.StateRunning
	})
}

// isUndisturbed reports whether a controller of the control plane runs without an intervention.
func (p *ControlPlane) isUndisturbed(ctx context.Context, controller string) (bool, error) {
	return p.hasController(ctx, func(c control.Controller) bool {
		return c.Name == controller && c.State == observe.StateRunning && c.Reason == ""
	})
}

func (p *ControlPlane) hasController(ctx context.Context, matches func(control.Controller) bool) (bool, error) {
	list, err := p.control.Controllers(ctx)
	if err != nil {
		return false, preferCause(ctx, err)
	}
	return slices.ContainsFunc(list, matches), nil
}

// endNamespace deletes a test's namespace and explains the failure of the test.
func (p *ControlPlane) endNamespace(t testing.TB, namespace string) {
	p.setNamespace(t, "")
	failed := t.Failed()
	if failed && !p.wasExplained(t) {
		p.explainFailure(t, namespace, 0)
	}
	ctx, stop := p.testContext(t)
	defer stop()
	if err := p.deleteNamespace(ctx, namespace); err != nil {
		t.Errorf("ctrlplanetest: namespace %s is not deleted: %v", namespace, err)
		if !failed {
			p.explainFailure(t, namespace, 0)
		}
	}
}

// awaitNamespaceGone returns when the namespace no longer exists.
func (p *ControlPlane) awaitNamespaceGone(ctx context.Context, name string) error {
	err := p.health.Wait(ctx, []health.Ref{{GroupVersionKind: namespaceKind, Name: name}}, health.Options{Gone: true})
	if stuck, ok := errors.AsType[*health.NotHealthyError](err); ok {
		return fmt.Errorf("%w: %s", stuck.Cause, stuck.Objects[0].Reason)
	}
	return err
}

// namespacePrefix makes a prefix for generated names from the name of a test: a DNS
// label that leaves room for the suffix.
func namespacePrefix(test string) string {
	const most = 50
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(test))
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '-' })
	name = strings.Join(words, "-")
	if len(name) > most {
		name = strings.TrimRight(name[:most], "-")
	}
	if name == "" {
		name = "test"
	}
	return name + "-"
}

// setNamespace records the namespace of a test; "" = none.
func (p *ControlPlane) setNamespace(t testing.TB, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name == "" {
		delete(p.namespaces, t.Name())
	} else {
		p.namespaces[t.Name()] = name
	}
}

// namespaceOf returns the namespace of a test or of the test it is a part of, else
// "default".
func (p *ControlPlane) namespaceOf(t testing.TB) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for test, more := t.Name(), true; more; {
		if name := p.namespaces[test]; name != "" {
			return name
		}
		i := strings.LastIndexByte(test, '/')
		test, more = test[:max(i, 0)], i >= 0
	}
	return metav1.NamespaceDefault
}

// preferCause returns why ctx ended, if it did, instead of the error of the request
// that it interrupted.
func preferCause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
