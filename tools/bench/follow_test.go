package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func object(name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// opener opens the watches given, one after the other, then none.
func opener(watches ...watch.Interface) func(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return func(context.Context, metav1.ListOptions) (watch.Interface, error) {
		if len(watches) == 0 {
			return nil, errors.New("refused")
		}
		w := watches[0]
		watches = watches[1:]
		return w, nil
	}
}

// closed is a watch that the server closes after some objects.
func closed(names ...string) watch.Interface {
	w := watch.NewFakeWithChanSize(len(names), false)
	for _, name := range names {
		w.Add(object(name))
	}
	w.Stop()
	return w
}

func TestCountGoesOnAfterAClosedWatch(t *testing.T) {
	w, err := follow(t.Context(), opener(closed("a", "b"), closed(), closed("a", "b", "c")))
	if err != nil {
		t.Fatal(err)
	}
	if err := count(t.Context(), w, 3, exists); err != nil {
		t.Error(err)
	}
}

func TestCountTellsWhyAWatchStaysClosed(t *testing.T) {
	w, err := follow(t.Context(), opener(closed("a", "b")))
	if err != nil {
		t.Fatal(err)
	}
	err = count(t.Context(), w, 3, exists)
	if err == nil || !strings.Contains(err.Error(), "2 of 3: the server has closed the watch: refused") {
		t.Errorf("got %v", err)
	}
}
