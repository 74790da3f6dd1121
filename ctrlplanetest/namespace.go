package ctrlplanetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/health"
)

// testAnnotation says on a Namespace which test it is for.
const testAnnotation = "ctrlplane/test"

var (
	namespaceKind      = corev1.SchemeGroupVersion.WithKind("Namespace")
	serviceAccountKind = corev1.SchemeGroupVersion.WithKind("ServiceAccount")
)

// Namespace makes a namespace for the test, in which Pods can be created at once,
// and returns its name. At the end of the test it is deleted, with all that is in
// it: a test whose namespace cannot be deleted fails, and is told what is left.
//
// A controller under test that has to take finalizers away must run until then:
// start it before, and end it in a Cleanup; t.Context() ends too early.
func (p *ControlPlane) Namespace(t testing.TB) string {
	t.Helper()
	ctx, stop := p.testContext(t)
	defer stop()
	ns, err := p.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: namespacePrefix(t.Name()),
		Annotations:  map[string]string{testAnnotation: t.Name()},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("ctrlplanetest: create a namespace: %v", preferCause(ctx, err))
	}
	p.setNamespace(t, ns.Name)
	t.Cleanup(func() { p.endNamespace(t, ns.Name) })
	if err := p.awaitPodAdmission(ctx, ns.Name); err != nil {
		t.Fatalf("ctrlplanetest: namespace %s: %v", ns.Name, err)
	}
	return ns.Name
}

// awaitPodAdmission returns when Pods are admitted to a namespace: without a ServiceAccount
// they are not. If nobody makes one, that is the test's concern.
func (p *ControlPlane) awaitPodAdmission(ctx context.Context, namespace string) error {
	list, err := p.control.Controllers(ctx)
	if err != nil {
		return preferCause(ctx, err)
	}
	for _, c := range list {
		if c.Name == "serviceaccount-controller" && c.State == "running" {
			return p.health.Wait(ctx, []health.Ref{{GroupVersionKind: serviceAccountKind, Namespace: namespace, Name: "default"}}, health.Options{})
		}
	}
	return nil
}

// endNamespace deletes a test's namespace, and explains the failure of the test.
func (p *ControlPlane) endNamespace(t testing.TB, namespace string) {
	p.setNamespace(t, "")
	failed := t.Failed()
	if failed {
		p.explainFailure(t, namespace, 0)
	}
	ctx, stop := p.testContext(t)
	defer stop()
	if err := p.deleteNamespace(ctx, namespace); err != nil {
		t.Errorf("ctrlplanetest: namespace %s was not deleted: %v", namespace, err)
		if !failed {
			p.explainFailure(t, namespace, 0)
		}
	}
}

// awaitNamespaceGone returns when there is no such namespace any more.
func (p *ControlPlane) awaitNamespaceGone(ctx context.Context, name string) error {
	err := p.health.Wait(ctx, []health.Ref{{GroupVersionKind: namespaceKind, Name: name}}, health.Options{Gone: true})
	if stuck, ok := errors.AsType[*health.NotHealthyError](err); ok {
		return fmt.Errorf("%w: %s", stuck.Cause, stuck.Objects[0].Reason)
	}
	return err
}

// namespacePrefix makes the beginning of a namespace's name of a test's: a DNS label that
// leaves room for what the API server adds.
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

// setNamespace says which namespace is the test's; "" = none.
func (p *ControlPlane) setNamespace(t testing.TB, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name == "" {
		delete(p.namespaces, t.Name())
	} else {
		p.namespaces[t.Name()] = name
	}
}

// namespaceOf is the test's, or that of the test that it is a part of, or "default".
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

// preferCause prefers why ctx has ended to what that did to a request.
func preferCause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
