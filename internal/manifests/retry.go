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
)

// retry does something until it succeeds, until it fails for a reason that
// stays, or until patience ends; then the error is the last one.
func (a *applier) retry(ctx context.Context, do func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, a.retryTimeout)
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
		return fmt.Errorf("%w (tried again for %v)", last, a.retryTimeout)
	}
	return err
}

// isTransient tells whether an error may be gone a moment later: the server is busy
// or not yet aware of what was just written.
func isTransient(err error) bool {
	if wait := transientError(""); errors.As(err, &wait) {
		return true
	}
	if net.IsConnectionRefused(err) || net.IsConnectionReset(err) || net.IsHTTP2ConnectionLost(err) {
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
		// No handler for the kind, as opposed to no object or namespace.
		return apierrors.IsUnexpectedServerError(err)
	case http.StatusInternalServerError:
		// Of the others, many are mistakes in the object: an unknown field is one.
		return status.Reason == metav1.StatusReasonServerTimeout ||
			errorContains(err, "failed calling webhook") || errorContains(err, "conversion webhook for")
	case http.StatusForbidden:
		// Admission plugins look for what controllers make, or caches bring, a
		// little later. No reason or cause tells these from other refusals.
		return errorContains(err, "error looking up service account") ||
			errorContains(err, "status unknown for quota") || errorContains(err, "no PriorityClass with name")
	}
	return false
}

func errorContains(err error, text string) bool { return strings.Contains(err.Error(), text) }
