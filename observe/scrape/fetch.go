package scrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

const (
	maxBody = 8 << 20 // uncompressed

	// The delimited protobuf form is cheaper for both sides.
	accept = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited," +
		"text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)

// fetch returns the answer of the process, decompressed.
func (s *Source) fetch(ctx context.Context) (body []byte, contentType string, err error) {
	tooLate := fmt.Errorf("no answer within %s", s.timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, tooLate)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.String(), nil)
	if err != nil {
		return nil, "", s.errorf("%w", err)
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", "ctrlplane")
	token, err := s.bearerToken()
	if err != nil {
		return nil, "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := s.client.Do(req)
	if err == nil {
		defer resp.Body.Close()
		body, err = io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	}
	switch {
	case errors.Is(context.Cause(ctx), tooLate):
		return nil, "", s.errorf("%w: check that the process is not stuck and that no firewall drops the connection", tooLate)
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case err != nil:
		return nil, "", s.errorf("%w", s.explainNetworkError(err))
	case resp.StatusCode != http.StatusOK:
		return nil, "", s.errorf("%w", s.explainStatus(resp, body, token != ""))
	case len(body) > maxBody:
		return nil, "", s.errorf("the answer is larger than %d MiB: use an address with fewer metrics", maxBody>>20)
	}
	return body, resp.Header.Get("Content-Type"), nil
}

// errorf returns an error that names the metrics address.
func (s *Source) errorf(format string, args ...any) error {
	return fmt.Errorf("metrics of %s: "+format, append([]any{s.url.Redacted()}, args...)...)
}
