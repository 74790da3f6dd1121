package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// timeoutParameter is the parameter with which a client limits the time of any request.
const timeoutParameter = "timeout"

// maxRequestTime limits the time of a request that has no limit of its own.
const maxRequestTime = time.Minute

// ownTimeLimits are the patterns of requests that wait as long as they need, or as they say.
var ownTimeLimits = []string{"GET " + SettledPath, "PUT " + StatePath, "POST " + ResetPath}

// timeoutError is the error of a request that has taken too long.
type timeoutError time.Duration

func (e timeoutError) Error() string { return fmt.Sprintf("timed out after %s", time.Duration(e)) }

// endedError is the error of a request that has ended because the server or the client has.
type endedError struct{ error }

// answerInTime returns what answer returns for a request with these parameters only, whose context ends with its time.
func answerInTime(req *http.Request, pattern string, parameters []string, answer func(*http.Request) (any, error)) (any, error) {
	if err := checkParameters(req, parameters); err != nil {
		return nil, err
	}
	timeout, err := parseDuration(req.URL.Query(), timeoutParameter, 0)
	if err != nil {
		return nil, err
	}
	if timeout == 0 || timeout > maxRequestTime {
		timeout = maxRequestTime
	}
	if !slices.Contains(ownTimeLimits, pattern) {
		ctx, cancel := context.WithTimeoutCause(req.Context(), timeout, timeoutError(timeout))
		defer cancel()
		req = req.WithContext(ctx)
		limitBodyTime(req, timeout)
	}
	v, err := answer(req)
	return v, describeEnd(req.Context(), err)
}

// describeEnd returns the error of a request, which is why its context has ended if that is the reason.
func describeEnd(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case err == nil || cause == nil || errors.As(err, new(timeoutError)):
		return err
	case errors.As(cause, new(timeoutError)):
		return cause
	case errors.Is(err, context.Canceled) || errors.Is(err, cause):
		return endedError{cause}
	}
	return err
}
