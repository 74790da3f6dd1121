package manifests

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ctrlplane/ctrlplane/internal/neterror"
)

// retry calls do until it succeeds, fails with an error that is not transient, or the
// timeout has passed; then it returns the last error.
func (a *applier) retry(ctx context.Context, do func(context.Context) error) error {
	timeout := a.retryTimeout
	if !a.limit.IsZero() {
		timeout = min(timeout, max(time.Until(a.limit), minRetryTimeout))
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	delays := wait.Backoff{Duration: 20 * time.Millisecond, Factor: 1.5, Steps: 100, Cap: 500 * time.Millisecond}.DelayFunc()
	var last error
	err := delays.Until(bounded, true, true, func(ctx context.Context) (bool, error) {
		err := do(ctx)
		if err != nil && isTransient(err) {
			last = err
			return false, nil
		}
		return true, err
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && last != nil:
		return fmt.Errorf("%w: %w", context.Cause(ctx), last)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case bounded.Err() != nil && last != nil:
		if a.limit.IsZero() {
			a.limit = time.Now().Add(laterRetryTimeout)
		}
		return fmt.Errorf("%w (retried for %v)", last, timeout.Round(time.Millisecond))
	}
	return err
}

// retriesAreOver reports whether the retries of objects have failed for so long that the others are not applied.
func (a *applier) retriesAreOver() bool { return !a.limit.IsZero() && !time.Now().Before(a.limit) }

// isTransient reports whether an error may not occur again a moment later, because the
// server is busy or has not processed a recent write yet.
func isTransient(err error) bool {
	if _, wait := errors.AsType[transientError](err); wait {
		return true
	}
	if neterror.IsRefused(err) || neterror.IsReset(err) || net.IsHTTP2ConnectionLost(err) {
		return true
	}
	api := apierrors.APIStatus(nil)
	if !errors.As(err, &api) {
		return false
	}
	status := api.Status()
	switch status.Code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusNotFound:
		// There is no handler for the kind, as opposed to no such object or namespace.
		return apierrors.IsUnexpectedServerError(err)
	case http.StatusInternalServerError:
		// Many of the others are mistakes in the object, such as unknown fields.
		return status.Reason == metav1.StatusReasonServerTimeout ||
			errorContains(err, "failed calling webhook") || errorContains(err, "conversion webhook for")
	case http.StatusForbidden:
		// Admission plugins need objects that a controller creates, or an informer
		// receives, a little later. Only the text distinguishes these rejections.
		return errorContains(err, "error looking up service account") ||
			errorContains(err, "status unknown for quota") || errorContains(err, "no PriorityClass with name")
	}
	return false
}

func errorContains(err error, text string) bool { return strings.Contains(err.Error(), text) }
