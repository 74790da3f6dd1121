package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// openWatch opens a watch.
type openWatch func(context.Context, metav1.ListOptions) (watch.Interface, error)

// restartableWatch is a watch that can be restarted: on a busy machine the server drops
// slow watchers. A restarted watch begins with all existing objects.
type restartableWatch struct {
	watch.Interface
	open openWatch
}

func startWatch(ctx context.Context, open openWatch) (*restartableWatch, error) {
	w, err := open(ctx, metav1.ListOptions{})
	return &restartableWatch{w, open}, err
}

func (f *restartableWatch) restart(ctx context.Context) error {
	w, err := f.open(ctx, metav1.ListOptions{})
	if err == nil {
		f.Interface = w
	}
	return err
}

// awaitEvent returns when the watch delivers an event for which ok is true.
func (f *restartableWatch) awaitEvent(ctx context.Context, ok func(watch.Event, metav1.Object) bool) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e, open := <-f.ResultChan():
			object, isObject := e.Object.(metav1.Object)
			switch {
			case !open:
				if err := f.restart(ctx); err != nil {
					return fmt.Errorf("the server closed the watch: %w", err)
				}
			case e.Type == watch.Error:
				return fmt.Errorf("watch: %v", e.Object)
			case isObject && ok(e, object):
				return nil
			}
		}
	}
}
