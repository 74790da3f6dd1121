package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// following is a watch that can begin again: on a busy machine the server drops
// who does not keep up, and tells who comes back of all that is there.
type following struct {
	watch.Interface
	open func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

func follow(ctx context.Context, open func(context.Context, metav1.ListOptions) (watch.Interface, error)) (*following, error) {
	w, err := open(ctx, metav1.ListOptions{})
	return &following{w, open}, err
}

func (f *following) again(ctx context.Context) error {
	w, err := f.open(ctx, metav1.ListOptions{})
	if err == nil {
		f.Interface = w
	}
	return err
}
