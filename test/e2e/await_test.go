package e2e_test

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"
)

const (
	// waitTimeout bounds each wait; on an idle machine most take milliseconds.
	waitTimeout = slowdown * 90 * time.Second
	// pollInterval is the time between two requests for a state.
	pollInterval = 50 * time.Millisecond
)

// await polls a state until ok returns true for it, and returns it. A failure shows
// the last state.
func await[T any](t *testing.T, what string, get func(context.Context) (T, error), ok func(T) bool) T {
	t.Helper()
	return awaitWithin(t, waitTimeout, what, get, ok)
}

// awaitWithin is await with a timeout of its own.
func awaitWithin[T any](t *testing.T, timeout time.Duration, what string, get func(context.Context) (T, error), ok func(T) bool) T {
	t.Helper()
	var last T
	var lastErr error
	err := wait.PollUntilContextTimeout(t.Context(), pollInterval, timeout, true, func(ctx context.Context) (bool, error) {
		got, err := get(ctx)
		if ctx.Err() != nil {
			return false, nil // keep the state from before the timeout
		}
		if lastErr = err; err != nil {
			return false, nil
		}
		last = got
		return ok(got), nil
	})
	if err != nil {
		t.Fatalf("no %s within %v; last error: %v; last state:\n%s", what, timeout, lastErr, toYAML(last))
	}
	return last
}

// awaitGone polls an object until it does not exist.
func awaitGone[T any](t *testing.T, what string, get func(context.Context) (T, error)) {
	t.Helper()
	awaitGoneWithin(t, waitTimeout, what, get)
}

// awaitGoneWithin is awaitGone with a timeout of its own.
func awaitGoneWithin[T any](t *testing.T, timeout time.Duration, what string, get func(context.Context) (T, error)) {
	t.Helper()
	awaitWithin(t, timeout, "end of "+what, func(ctx context.Context) ([]T, error) {
		got, err := get(ctx)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return []T{got}, err
	}, func(left []T) bool { return len(left) == 0 })
}

// awaitRefusal sends a request until it is refused with a text and returns the refusal: new
// policies and webhooks take effect some time after they are created, and are refused for
// another reason while a parameter is not known, or when a webhook does not answer in time.
func awaitRefusal(t *testing.T, what, want string, send func(context.Context) error) error {
	t.Helper()
	return await(t, "refusal of "+what+" with "+want, func(ctx context.Context) (error, error) {
		return send(ctx), nil
	}, func(refusal error) bool { return refusal != nil && strings.Contains(refusal.Error(), want) })
}

// toYAML formats a state for a failure message, without managed fields.
func toYAML(state any) string {
	text, err := yaml.Marshal(state)
	if err != nil {
		return err.Error()
	}
	var fields any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return err.Error()
	}
	dropManagedFields(fields)
	if text, err = yaml.Marshal(fields); err != nil {
		return err.Error()
	}
	const most = 8000
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return strings.TrimSpace(string(text))
}

func dropManagedFields(fields any) {
	switch fields := fields.(type) {
	case map[string]any:
		delete(fields, "managedFields")
		for _, v := range fields {
			dropManagedFields(v)
		}
	case []any:
		for _, v := range fields {
			dropManagedFields(v)
		}
	}
}

// The interfaces that the typed client of a resource implements.
type (
	getter[T any] interface {
		Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
	}
	lister[L any] interface {
		List(ctx context.Context, opts metav1.ListOptions) (L, error)
	}
	creator[T any] interface {
		Create(ctx context.Context, obj T, opts metav1.CreateOptions) (T, error)
	}
	updater[T any] interface {
		getter[T]
		Update(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error)
	}
	statusUpdater[T any] interface {
		getter[T]
		UpdateStatus(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error)
	}
	deleter interface {
		Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
	}
)
