package command_test

import (
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

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
			client, err := rest.HTTPClientFor(cfg)
			if err != nil {
				t.Fatal(err)
			}
			body, send := io.Pipe()
			sent := make(chan error, 1)
			go func() {
				_, err := io.WriteString(send, `{"names":["a"`)
				sent <- err
			}()
			res, err := client.Post(cfg.Host+controlrest.ControllersPath+"/pause?timeout=1s", "application/json", body)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(res.Body)
			if err := errors.Join(err, <-sent, res.Body.Close(), send.Close()); err != nil {
				t.Fatal(err)
			}
			if res.Proto != protocol || res.StatusCode != http.StatusGatewayTimeout || !strings.Contains(string(answer), "request body: timed out after 1s") {
				t.Errorf("got %s %d %s", res.Proto, res.StatusCode, answer)
			}
		})
	}
}
