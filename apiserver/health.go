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
)

// healthPollInterval is how often a health endpoint is asked while starting. It is
// asked in memory, which takes some 50 µs.
const healthPollInterval = 5 * time.Millisecond

// apiServerUser is who upstream's own loopback client is.
func apiServerUser() user.Info {
	return &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}
}

func (s *Server) waitHealthy(ctx context.Context, path string) error {
	client := &http.Client{Transport: loopback.Transport{Handler: s.aggregator.GenericAPIServer.Handler, User: apiServerUser()}}
	ticker := time.NewTicker(healthPollInterval)
	defer ticker.Stop()
	for {
		red, err := pollHealth(ctx, client, path)
		if err == nil && red == "" {
			return nil
		}
		select {
		case <-s.done:
			return errors.Join(errors.New("apiserver: ended while starting"), s.err)
		case <-ctx.Done():
			return fmt.Errorf("apiserver: %s: %w: %s", path, context.Cause(ctx), red)
		case <-ticker.C:
		}
	}
}

// pollHealth returns the names of the checks that are red; empty = green.
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
	var red []string
	for line := range strings.Lines(string(body)) {
		if name, ok := strings.CutPrefix(line, "[-]"); ok {
			name, _, _ = strings.Cut(name, " ")
			red = append(red, name)
		}
	}
	if len(red) == 0 {
		return resp.Status, nil
	}
	return "waiting for " + strings.Join(red, ", "), nil
}

func joinErrors(errs []error) error {
	var parts []string
	for _, err := range errs {
		parts = append(parts, strings.Join(strings.Fields(err.Error()), " "))
	}
	return errors.New(strings.Join(parts, "; "))
}
