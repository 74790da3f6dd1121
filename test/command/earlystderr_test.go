package command_test

import (
	"crypto/tls"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestEarlyStderrIsInitializedFirst checks the initialization order that
// cmd/ctrlplane/earlystderr relies on: before the package that prints to stderr.
func TestEarlyStderrIsInitializedFirst(t *testing.T) {
	t.Parallel()
	cmd := program.Command(t, "version")
	cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1")
	_, trace, _ := program.Run(t, cmd)
	guard := strings.Index(trace, "init github.com/ctrlplane/ctrlplane/cmd/ctrlplane/earlystderr ")
	guarded := strings.Index(trace, "init k8s.io/apiserver/pkg/storage/storagebackend/factory ")
	if guard < 0 || guarded < 0 || guard > guarded {
		t.Errorf("earlystderr is initialized at %d of the trace, the etcd client's factory at %d", guard, guarded)
	}
}

// TestServerErrorsAreLogged breaks the rules of HTTP/2, which the API server's HTTP server
// reports to os.Stderr: that would be in the middle of the live view.
func TestServerErrorsAreLogged(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := program.Up(t, dir)
	cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(cfg.Host)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := tls.Dial("tcp", server.Host, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const settingsOfAStream = "\x00\x00\x00\x04\x00\x00\x00\x00\x01"
	if _, err := conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settingsOfAStream)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, conn) // until the server closes the connection
	const message = "http2: server connection error"
	p.Await(t, "logging the error", func() bool {
		log, err := os.ReadFile(filepath.Join(dir, "ctrlplane.log"))
		return err == nil && strings.Contains(string(log), message)
	})
	p.Stop(t, syscall.SIGTERM)
	if text := p.Stderr.String(); text != "" {
		t.Errorf("stderr: %q", text)
	}
}
