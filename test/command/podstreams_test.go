package command_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/websocket"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// testSimulatedStreams attaches to a Pod that runs no command and forwards a port of it: clients of both protocols receive why that
// fails on the error channel, as libraries in other languages hand over nothing of a refused handshake.
func testSimulatedStreams(t *testing.T, p *program.ControlPlane) {
	cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(p.Dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	const (
		noProcess = "pod server is simulated: no process is running in container main"
		noPort    = "pod server is simulated and listens on no port: give it an annotation ctrlplane.local/http"
	)
	at := func(subresource, query string) *url.URL {
		u, err := url.Parse(cfg.Host + "/api/v1/namespaces/default/pods/server/" + subresource + "?" + query)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for subresource, want := range map[string]string{"attach?container=main&stdout=true": noProcess, "portforward?ports=81": noPort} {
		subresource, query, _ := strings.Cut(subresource, "?")
		if got := readWebSocket(t, cfg, at(subresource, query)); !strings.Contains(got, want) {
			t.Errorf("%s over a WebSocket: no %q in %q", subresource, want, got)
		}
	}
	attach, err := remotecommand.NewSPDYExecutor(cfg, http.MethodPost, at("attach", "container=main&stdout=true"))
	if err != nil {
		t.Fatal(err)
	}
	if err := attach.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: io.Discard}); err == nil || !strings.Contains(err.Error(), noProcess) {
		t.Errorf("attach over SPDY: %v", err)
	}
	if got := readForwardError(t, cfg, at("portforward", "")); !strings.HasPrefix(got, "error forwarding port 81 to pod server, ") || !strings.Contains(got, noPort) {
		t.Errorf("port-forward over SPDY: %q", got)
	}
	refused := program.Command(t, "--data-dir", p.Dir, "kubectl", "attach", "server")
	if _, stderr, code := program.Run(t, refused); code != 1 || !strings.Contains(stderr, noProcess) {
		t.Errorf("kubectl attach: exit code %d: %s", code, stderr)
	}
}

// readWebSocket returns what all channels of a WebSocket send.
func readWebSocket(t *testing.T, cfg *rest.Config, u *url.URL) string {
	t.Helper()
	u.Scheme = "wss"
	config, err := websocket.NewConfig(u.String(), "https://localhost")
	if err != nil {
		t.Fatal(err)
	}
	if config.TlsConfig, err = rest.TLSConfigFor(cfg); err != nil {
		t.Fatal(err)
	}
	config.Protocol = []string{"v4.channel.k8s.io"}
	config.TlsConfig.NextProtos = nil // not HTTP/2
	conn, err := config.DialContext(t.Context())
	if err != nil {
		t.Fatalf("the handshake of %s: %v", u.Path, err)
	}
	defer conn.Close()
	var all bytes.Buffer
	for {
		var frame []byte
		if err := websocket.Message.Receive(conn, &frame); err != nil {
			return all.String()
		}
		all.Write(frame)
	}
}

// readForwardError connects to port 81 of a Pod and returns what its error stream sends.
func readForwardError(t *testing.T, cfg *rest.Config, u *url.URL) string {
	t.Helper()
	transport, upgrader, err := spdy.RoundTripperFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	conn, _, err := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, u).Dial("portforward.k8s.io")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var errs io.Reader
	for _, kind := range []string{corev1.StreamTypeError, corev1.StreamTypeData} {
		stream, err := conn.CreateStream(http.Header{corev1.StreamType: {kind}, corev1.PortHeader: {"81"}, corev1.PortForwardRequestIDHeader: {"0"}})
		if err != nil {
			t.Fatal(err)
		}
		if kind == corev1.StreamTypeError {
			errs = stream
		}
	}
	text, err := io.ReadAll(errs)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
