package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

const (
	// defaultSettledTimeout and defaultHorizon are the parameters of SettledPath if a request does not have them.
	defaultSettledTimeout = 30 * time.Second
	defaultHorizon        = time.Second
	maxSettledTimeout     = 10 * time.Minute

	horizonParameter = "horizon"
)

// settledAnswer is the answer of SettledPath.
type settledAnswer struct {
	Settled   bool           `json:"settled"`
	Remaining []settled.Work `json:"remaining"` // if it has not settled in time
}

// maxSettledWaits limits the waits at the same time: each asks for snapshots again and again.
const maxSettledWaits = 20

// tooManyError is the error of a request that more than a number of others would run beside.
type tooManyError string

func (e tooManyError) Error() string { return string(e) }

// handleSettled serves SettledPath.
func (s Services) handleSettled(mux *http.ServeMux) {
	waits := make(chan struct{}, maxSettledWaits)
	handle(mux, "GET "+SettledPath, func(req *http.Request) (any, error) {
		select {
		case waits <- struct{}{}:
			defer func() { <-waits }()
			return s.waitSettled(req)
		default:
			return nil, tooManyError(fmt.Sprintf("%d requests wait already until the control plane has settled: try again in a moment", maxSettledWaits))
		}
	}, timeoutParameter, horizonParameter)
}

// waitSettled answers a request to SettledPath when the control plane has settled, or with what remains when the time is over.
func (s Services) waitSettled(req *http.Request) (any, error) {
	params := req.URL.Query()
	timeout, err := parseShortDuration(params, timeoutParameter, defaultSettledTimeout)
	if err != nil {
		return nil, err
	}
	horizon, err := parseShortDuration(params, horizonParameter, defaultHorizon)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(req.Context(), timeout, fmt.Errorf("timed out after %s", timeout))
	defer cancel()
	err = settled.Wait(ctx, s.Source, horizon, nil)
	if busy, ok := errors.AsType[*settled.BusyError](err); ok {
		return settledAnswer{Remaining: busy.Work}, nil
	}
	return settledAnswer{Settled: true, Remaining: []settled.Work{}}, err
}

// parseShortDuration is parseDuration with maxSettledTimeout as the longest duration.
func parseShortDuration(params url.Values, name string, unset time.Duration) (time.Duration, error) {
	d, err := parseDuration(params, name, unset)
	if err == nil && d > maxSettledTimeout {
		err = usage.Errorf("parameter %s: %s is too long: at most %s", name, d, maxSettledTimeout)
	}
	return d, err
}

// parseDuration returns the duration in a parameter, which a request need not have.
func parseDuration(params url.Values, name string, unset time.Duration) (time.Duration, error) {
	if !params.Has(name) {
		return unset, nil
	}
	d, err := time.ParseDuration(params.Get(name))
	if err != nil || d < 0 {
		return 0, usage.Errorf("parameter %s: %q is not a duration such as 30s", name, params.Get(name))
	}
	return d, nil
}
