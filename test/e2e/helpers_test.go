package e2e_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
)

// uniqueName returns a name that no other test uses.
func uniqueName(prefix string) string { return prefix + "-" + strings.ToLower(rand.Text()[:8]) }

// createNamespace creates a namespace in which Pods can be created and deletes it
// when the test ends.
func createNamespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: uniqueName("ns")}}
	createShared(t, controlPlane.client.CoreV1().Namespaces(), ns, ns.Name)
	// Pods are refused until the default service account exists.
	await(t, "default service account", getByName(controlPlane.client.CoreV1().ServiceAccounts(ns.Name), "default"), anyState)
	return ns.Name
}

// createShared creates an object outside the test's namespace and deletes it when
// the test ends.
func createShared[T any](t *testing.T, c interface {
	creator[T]
	deleter
}, obj T, name string) T {
	t.Helper()
	made := createObject(t, c, obj)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		defer cancel()
		err := c.Delete(ctx, name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("delete %T %s: %v", obj, name, err)
		}
	})
	return made
}

func createObject[T any](t *testing.T, c creator[T], obj T) T {
	t.Helper()
	made, err := c.Create(t.Context(), obj, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create %T: %v", obj, err)
	}
	return made
}

func getObject[T any](t *testing.T, c getter[T], name string) T {
	t.Helper()
	got, err := c.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("get %s: %v", name, err)
	}
	return got
}

func listObjects[L any](t *testing.T, c lister[L], selector string) L {
	t.Helper()
	got, err := c.List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatalf("list %q: %v", selector, err)
	}
	return got
}

// updateObject changes an object and retries after a conflict.
func updateObject[T any](t *testing.T, c updater[T], name string, change func(T)) T {
	t.Helper()
	written, err := tryUpdate(t.Context(), c, name, change)
	if err != nil {
		t.Fatalf("update %s: %v", name, err)
	}
	return written
}

// tryUpdate is updateObject for await.
func tryUpdate[T any](ctx context.Context, c updater[T], name string, change func(T)) (T, error) {
	return updateWithRetry(ctx, c, name, change, func(obj T) (T, error) { return c.Update(ctx, obj, metav1.UpdateOptions{}) })
}

// updateObjectStatus is updateObject for the status subresource.
func updateObjectStatus[T any](t *testing.T, c statusUpdater[T], name string, change func(T)) T {
	t.Helper()
	written, err := updateWithRetry(t.Context(), c, name, change, func(obj T) (T, error) { return c.UpdateStatus(t.Context(), obj, metav1.UpdateOptions{}) })
	if err != nil {
		t.Fatalf("update the status of %s: %v", name, err)
	}
	return written
}

// conflictBackoff is for objects that controllers often write: some 3 s.
var conflictBackoff = wait.Backoff{Duration: 5 * time.Millisecond, Factor: 1.5, Jitter: 0.5, Steps: 15}

func updateWithRetry[T any](ctx context.Context, c getter[T], name string, change func(T), write func(T) (T, error)) (written T, err error) {
	err = retry.RetryOnConflict(conflictBackoff, func() error {
		obj, err := c.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(obj)
		written, err = write(obj)
		return err
	})
	return written, err
}

// deleteObject deletes an object with the given options; by default in the background.
func deleteObject(t *testing.T, c deleter, name string, opts ...metav1.DeleteOptions) {
	t.Helper()
	how := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	if len(opts) > 0 {
		how = opts[0]
	}
	if err := c.Delete(t.Context(), name, how); err != nil {
		t.Fatalf("delete %s: %v", name, err)
	}
}

// getByName and listBySelector return functions for await.
func getByName[T any](c getter[T], name string) func(context.Context) (T, error) {
	return func(ctx context.Context) (T, error) { return c.Get(ctx, name, metav1.GetOptions{}) }
}

func listBySelector[L any](c lister[L], selector string) func(context.Context) (L, error) {
	return func(ctx context.Context) (L, error) { return c.List(ctx, metav1.ListOptions{LabelSelector: selector}) }
}

// find returns the first element for which is holds, or the zero value.
func find[E any](list []E, is func(E) bool) (found E) {
	if i := slices.IndexFunc(list, is); i >= 0 {
		found = list[i]
	}
	return found
}

func anyState[T any](T) bool { return true }

// requireController checks the controller in an object's owner references.
func requireController(t *testing.T, obj metav1.Object, kind, name string) {
	t.Helper()
	ref := metav1.GetControllerOf(obj)
	if ref == nil || ref.Kind != kind || ref.Name != name {
		t.Errorf("%s is controlled by %+v, want %s %s", obj.GetName(), ref, kind, name)
	}
}

// awaitEvent waits for an Event about an object.
func awaitEvent(t *testing.T, ns, kind, name, reason string) corev1.Event {
	t.Helper()
	selector := fmt.Sprintf("involvedObject.kind=%s,involvedObject.name=%s,reason=%s", kind, name, reason)
	events := await(t, "event "+reason+" of "+kind+" "+name, func(ctx context.Context) (*corev1.EventList, error) {
		return controlPlane.client.CoreV1().Events(ns).List(ctx, metav1.ListOptions{FieldSelector: selector})
	}, func(l *corev1.EventList) bool { return len(l.Items) > 0 })
	return events.Items[0]
}

// oneHourAgo is the start time of Pods and conditions that are not new.
func oneHourAgo() metav1.Time { return metav1.NewTime(time.Now().Add(-time.Hour)) }
