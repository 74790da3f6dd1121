package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// restartableWatch is a watch that can begin again: on a busy machine the server drops
// who does not keep up, and tells who comes back of all that is there.
type restartableWatch struct {
	watch.Interface
	open func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

func startWatch(ctx context.Context, open func(context.Context, metav1.ListOptions) (watch.Interface, error)) (*restartableWatch, error) {
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

// awaitEvent returns when the watch tells of an object for which ok holds.
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
					return fmt.Errorf("the server has closed the watch: %w", err)
				}
			case e.Type == watch.Error:
				return fmt.Errorf("watch: %v", e.Object)
			case isObject && ok(e, object):
				return nil
			}
		}
	}
}
