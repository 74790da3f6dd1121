package command_test

import (
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestStalledBody sends half of a body to ctrlplane's own API: the deadline of the rest has to pass through upstream's handlers.
func TestStalledBody(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program.Up(t, dir, minimal()...)
	cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	for protocol, next := range map[string][]string{"HTTP/1.1": {"http/1.1"}, "HTTP/2.0": {"h2"}} {
		t.Run(protocol, func(t *testing.T) {
			cfg := rest.CopyConfig(cfg)
			cfg.NextProtos = next
			res, answer := sendHalf(t, cfg)
			if res.Proto != protocol || res.StatusCode != http.StatusGatewayTimeout || !strings.Contains(answer, "request body: timed out after 1s") {
				t.Errorf("got %s %d %s", res.Proto, res.StatusCode, answer)
			}
			// Upstream refuses a request without reading its body.
			res, answer = sendHalf(t, rest.AnonymousClientConfig(cfg))
			if res.Proto != protocol || res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden {
				t.Errorf("without authentication: got %s %d %s", res.Proto, res.StatusCode, answer)
			}
		})
	}
}

// sendHalf sends a request whose time is a second, and half of its body.
func sendHalf(t *testing.T, cfg *rest.Config) (res *http.Response, answer string) {
	t.Helper()
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	client.Timeout = time.Minute // much less than a connection that is held
	body, send := io.Pipe()
	defer send.Close()
	go func() { _, _ = io.WriteString(send, `{"names":["a"`) }() // fails if the answer comes first
	res, err = client.Post(cfg.Host+controlrest.ControllersPath+"/pause?timeout=1s", "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return res, string(data)
}
