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

// waitSettled answers a request to SettledPath when the control plane has settled, or with what remains when the time is over.
func (s Services) waitSettled(req *http.Request) (any, error) {
	params := req.URL.Query()
	timeout, err := parseDuration(params, timeoutParameter, defaultSettledTimeout, maxSettledTimeout)
	if err != nil {
		return nil, err
	}
	horizon, err := parseDuration(params, horizonParameter, defaultHorizon, maxSettledTimeout)
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

// parseDuration returns the duration in a parameter, which a request need not have.
func parseDuration(params url.Values, name string, unset, most time.Duration) (time.Duration, error) {
	if !params.Has(name) {
		return unset, nil
	}
	d, err := time.ParseDuration(params.Get(name))
	if err != nil || d < 0 || d > most {
		return 0, usage.Errorf("parameter %s: %q is not a duration such as 30s, of at most %s", name, params.Get(name), most)
	}
	return d, nil
}
