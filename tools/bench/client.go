package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/sleep"
)

const (
	pollInterval = 5 * time.Millisecond
	// requestTimeout bounds one request while a server starts.
	requestTimeout = 5 * time.Second
)

// apiClient is a client with the administrator's certificate, without retries and
// without a rate limit.
type apiClient struct {
	url       string
	transport *http.Transport
	client    *http.Client
}

// newAPIClient waits for the credentials. The server may respond later.
func (p *controlPlane) newAPIClient(ctx context.Context) (*apiClient, error) {
	var tlsConfig *tls.Config
	err := pollUntil(ctx, time.Millisecond, func(context.Context) (err error) {
		tlsConfig, err = loadTLSConfig(p.certs())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("wait for the credentials: %w", err)
	}
	transport := &http.Transport{TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true, DisableCompression: true}
	return &apiClient{url: p.url, transport: transport, client: &http.Client{Transport: transport}}, nil
}

func (a *apiClient) close() { a.transport.CloseIdleConnections() }

func loadTLSConfig(dir string) (*tls.Config, error) {
	if dir == "" {
		return nil, os.ErrNotExist
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, err
	}
	cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "admin.crt"), filepath.Join(dir, "admin.key"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s: ca.crt contains no certificate", dir)
	}
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, nil
}

// pollUntil calls try repeatedly until it succeeds.
func pollUntil(ctx context.Context, every time.Duration, try func(context.Context) error) error {
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if !sleep.For(ctx, every) {
			return fmt.Errorf("%w (last error: %w)", context.Cause(ctx), err)
		}
	}
}

// sendRequest sends a request and returns an error unless the status is 2xx.
func (a *apiClient) sendRequest(ctx context.Context, method, path, body string) error {
	_, err := a.requestStatus(ctx, method, path, body)
	return err
}

// createObject creates an object and returns its UID.
func (a *apiClient) createObject(ctx context.Context, path, body string) (string, error) {
	_, text, err := a.do(ctx, http.MethodPost, path, body)
	if err != nil {
		return "", err
	}
	var object struct{ Metadata struct{ UID string } }
	if err := json.Unmarshal(text, &object); err != nil {
		return "", fmt.Errorf("POST %s: %w", path, err)
	}
	return object.Metadata.UID, nil
}

func (a *apiClient) requestStatus(ctx context.Context, method, path, body string) (int, error) {
	status, _, err := a.do(ctx, method, path, body)
	return status, err
}

// do sends a request and returns status and body; an error unless the status is 2xx.
func (a *apiClient) do(ctx context.Context, method, path, body string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close() // it was read completely
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, nil, err
	}
	if resp.StatusCode/100 != 2 {
		return resp.StatusCode, nil, fmt.Errorf("%s %s: %s: %.200s", method, path, resp.Status, text)
	}
	return resp.StatusCode, text, nil
}

// awaitReady returns when /readyz succeeds.
func (a *apiClient) awaitReady(ctx context.Context) error {
	return pollUntil(ctx, pollInterval, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		return a.sendRequest(ctx, http.MethodGet, "/readyz", "")
	})
}

// awaitNamespace creates a namespace, as soon as that succeeds, and returns when the
// controllers have created the objects that every namespace gets.
func (a *apiClient) awaitNamespace(ctx context.Context, name string) error {
	err := pollUntil(ctx, pollInterval, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		body := fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name)
		status, err := a.requestStatus(ctx, http.MethodPost, "/api/v1/namespaces", body)
		if status == http.StatusConflict {
			return nil // an earlier request succeeded without a response
		}
		return err
	})
	for _, object := range []string{"serviceaccounts/default", "configmaps/kube-root-ca.crt"} {
		if err != nil {
			return err
		}
		err = pollUntil(ctx, pollInterval, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, requestTimeout)
			defer cancel()
			return a.sendRequest(ctx, http.MethodGet, "/api/v1/namespaces/"+name+"/"+object, "")
		})
	}
	return err
}

// startTimes are durations since the begin of a start.
type startTimes struct{ ready, controllersAct time.Duration }

// awaitStart returns when the server is ready and the controllers act in the new
// namespace, which are awaited concurrently.
func (a *apiClient) awaitStart(ctx context.Context, began time.Time, namespace string) (startTimes, error) {
	var s startTimes
	acts := make(chan error, 1)
	go func() {
		err := a.awaitNamespace(ctx, namespace)
		s.controllersAct = time.Since(began)
		acts <- err
	}()
	err := a.awaitReady(ctx)
	s.ready = time.Since(began)
	if acting := <-acts; err == nil && acting != nil {
		return s, fmt.Errorf("controllers do not act: %w", acting)
	}
	if err != nil {
		return s, fmt.Errorf("not ready: %w", err)
	}
	return s, nil
}
