package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/ctrlplane/ctrlplane/apiserver/loopback"
	"github.com/ctrlplane/ctrlplane/internal/useragent"
)

// healthPollInterval is how often a health endpoint is polled during a start. A request
// within the process takes about 50 µs.
const healthPollInterval = 5 * time.Millisecond

// apiServerUser returns the user of upstream's own loopback client.
func apiServerUser() user.Info {
	return &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}
}

func (s *Server) waitHealthy(ctx context.Context, path string) error {
	client := s.healthClient()
	ticker := time.NewTicker(healthPollInterval)
	defer ticker.Stop()
	bootstrapped := s.bootstrapped
	failing := "no answer"
	for {
		now, err := pollHealth(ctx, client, path)
		switch {
		case err == nil && now == "":
			return nil
		case err == nil:
			failing = now
		case ctx.Err() == nil: // a poll that the context has ended says less than the one before
			failing = err.Error()
		}
		select {
		case <-bootstrapped:
			if s.bootstrapErr != nil {
				return s.bootstrapErr
			}
			bootstrapped = nil
		case <-s.done:
			if s.err == nil {
				return errors.New("apiserver: stopped during the start")
			}
			return fmt.Errorf("apiserver: stopped during the start: %w", s.err)
		case <-ctx.Done():
			return fmt.Errorf("apiserver: %s: %w: %s", path, context.Cause(ctx), failing)
		case <-ticker.C:
		}
	}
}

// DescribeReadiness says which checks of /readyz fail.
func (s *Server) DescribeReadiness(ctx context.Context) string {
	failing, err := pollHealth(ctx, s.healthClient(), "/readyz")
	switch {
	case err != nil:
		return "the API server does not answer: " + err.Error()
	case failing == "":
		return "the API server has just become ready"
	}
	return failing
}

func (s *Server) healthClient() *http.Client {
	return &http.Client{Transport: loopback.Transport{Handler: s.aggregator.GenericAPIServer.Handler, User: apiServerUser(), UserAgent: useragent.Of(useragent.APIServer)}}
}

// pollHealth returns which checks fail; empty if none does.
func pollHealth(ctx context.Context, client *http.Client, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, loopback.URL+path, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode == http.StatusOK {
		return "", err
	}
	var failing []string
	for line := range strings.Lines(string(body)) {
		if name, ok := strings.CutPrefix(line, "[-]"); ok {
			name, _, _ = strings.Cut(name, " ")
			failing = append(failing, name)
		}
	}
	if len(failing) == 0 {
		return resp.Status, nil
	}
	return "waiting for " + strings.Join(failing, ", "), nil
}
