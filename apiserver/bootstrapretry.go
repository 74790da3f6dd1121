package apiserver

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

// Upstream's post-start hook tries for as long.
const (
	bootstrapRetryInterval = time.Second
	bootstrapRetryTimeout  = 30 * time.Second
)

// retryBootstrap calls establish until it succeeds or fails for good: an etcd cluster may be
// electing its leader.
func retryBootstrap(ctx context.Context, establish func() error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, bootstrapRetryInterval, bootstrapRetryTimeout, true, func(context.Context) (bool, error) {
		if last = establish(); last == nil || !isTemporary(last) {
			return true, last
		}
		klog.FromContext(ctx).Info("bootstrap policy: will retry", "err", last)
		return false, nil
	})
	if last != nil {
		return last // says more than that the time is over
	}
	return err
}

// isTemporary reports whether the API server has answered that it, or its etcd, has a problem. A
// disk that is full remains so.
func isTemporary(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return false
	}
	switch code := status.Status().Code; code {
	case http.StatusConflict, http.StatusTooManyRequests:
		return true
	case http.StatusInsufficientStorage:
		return false
	default:
		return code >= http.StatusInternalServerError
	}
}
