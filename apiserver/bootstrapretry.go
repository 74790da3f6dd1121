package apiserver

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
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

// etcdUnavailable are texts of errors of an etcd that has no leader or does not answer, which the API
// server returns as internal errors.
var etcdUnavailable = []string{
	"etcdserver: no leader",
	"etcdserver: leader changed",
	"etcdserver: request timed out", // also with a reason
	"etcdserver: server stopped",
	"etcdserver: unhealthy cluster",
	"code = Unavailable", // of gRPC: no connection
	"context deadline exceeded",
}

// isTemporary reports whether the API server has answered that it, or its etcd, is not available. Other internal
// errors remain, such as those of values that cannot be decrypted and of an etcd without space.
func isTemporary(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return false
	}
	switch status.Status().Code {
	case http.StatusConflict, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusInternalServerError:
		return apierrors.IsServerTimeout(err) || slices.ContainsFunc(etcdUnavailable, func(text string) bool {
			return strings.Contains(err.Error(), text)
		})
	}
	return false
}
