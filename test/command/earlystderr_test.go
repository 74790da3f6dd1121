package command_test

import (
	"crypto/tls"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestInitializationOrder checks the order that packages of cmd/ctrlplane rely on: before the
// package that prints to stderr, before the first that asks for kubectl's translations, and
// before Kubernetes allocates. A short verb ends without garbage collections, but perhaps one
// before that package.
func TestInitializationOrder(t *testing.T) {
	t.Parallel()
	cmd := program.Command(t, "version")
	cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1,gctrace=1")
	_, trace, _ := program.Run(t, cmd)
	for own, upstream := range map[string]string{
		"earlystderr":     "k8s.io/apiserver/pkg/storage/storagebackend/factory",
		"translations":    "k8s.io/kubectl/pkg/cmd/",
		"firstcollection": "k8s.io/api/core/v1 ",
		"asinit":          "k8s.io/api/core/v1 ",
	} {
		before := strings.Index(trace, "init github.com/ctrlplane/ctrlplane/cmd/ctrlplane/"+own+" ")
		after := strings.Index(trace, "init "+upstream)
		if before < 0 || after < 0 || before > after {
			t.Errorf("%s is initialized at %d of the trace, %s at %d", own, before, upstream, after)
		}
	}
	var collections []string
	for line := range strings.Lines(trace) {
		if strings.HasPrefix(line, "gc ") && !strings.Contains(line, "(forced)") { // firstcollection forces one
			collections = append(collections, line)
		}
	}
	if len(collections) > 1 {
		t.Errorf("collections: %q", collections)
	}
}

// testServerErrorsAreLogged breaks the rules of HTTP/2, which the API server's HTTP server
// reports to os.Stderr: that would be in the middle of the live view. The caller checks that stderr
// is empty.
func testServerErrorsAreLogged(t *testing.T, p *program.ControlPlane) {
	cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(p.Dir, "kubeconfig"))
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
		log, err := os.ReadFile(filepath.Join(p.Dir, "ctrlplane.log"))
		return err == nil && strings.Contains(string(log), message)
	})
}
