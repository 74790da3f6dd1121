package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func newObjectMeta(name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// openInOrder returns a function that opens the given watches one after the other, then fails.
func openInOrder(watches ...watch.Interface) func(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return func(context.Context, metav1.ListOptions) (watch.Interface, error) {
		if len(watches) == 0 {
			return nil, errors.New("refused")
		}
		w := watches[0]
		watches = watches[1:]
		return w, nil
	}
}

// newClosedWatch returns a watch that the server closes after some objects.
func newClosedWatch(names ...string) watch.Interface {
	w := watch.NewFakeWithChanSize(len(names), false)
	for _, name := range names {
		w.Add(newObjectMeta(name))
	}
	w.Stop()
	return w
}

func TestAwaitCountReopensClosedWatch(t *testing.T) {
	w, err := startWatch(t.Context(), openInOrder(newClosedWatch("a", "b"), newClosedWatch(), newClosedWatch("a", "b", "c")))
	if err != nil {
		t.Fatal(err)
	}
	if err := awaitCount(t.Context(), w, 3, anyObject); err != nil {
		t.Error(err)
	}
}

func TestAwaitCountReportsWhyWatchStaysClosed(t *testing.T) {
	w, err := startWatch(t.Context(), openInOrder(newClosedWatch("a", "b")))
	if err != nil {
		t.Fatal(err)
	}
	err = awaitCount(t.Context(), w, 3, anyObject)
	if err == nil || !strings.Contains(err.Error(), "2 of 3: the server closed the watch: refused") {
		t.Errorf("got %v", err)
	}
}
