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
	timeout, err := requestTime(req)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(ownTimeLimits, pattern) {
		ctx, cancel := context.WithTimeoutCause(req.Context(), timeout, timeoutError(timeout))
		defer cancel()
		req = req.WithContext(ctx)
	}
	v, err := answer(req)
	return v, describeEnd(req.Context(), err)
}

// requestTime returns the time that a request has, unless its pattern is one of ownTimeLimits.
func requestTime(req *http.Request) (time.Duration, error) {
	timeout, err := parseDuration(req.URL.Query(), timeoutParameter, 0)
	if timeout == 0 || timeout > maxRequestTime {
		timeout = maxRequestTime
	}
	return timeout, err
}

// maxBodyTime returns the time that the body of a request has; 0 = any, as for a snapshot, which is long.
func maxBodyTime(req *http.Request) time.Duration {
	if req.Method == http.MethodPut && req.URL.Path == StatePath {
		return 0
	}
	timeout, _ := requestTime(req) // the handler refuses a timeout that is not valid
	return timeout
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
