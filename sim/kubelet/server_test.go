package kubelet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/ctrlplane/ctrlplane/apiserver/pki"
	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

var errNetwork = errors.New("dialed over the network")

func refuseNetwork(context.Context, string, string) (net.Conn, error) { return nil, errNetwork }

func newNode(name string, addresses ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}}
	for _, a := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Address: a})
	}
	return n
}

func markSimulated(n *corev1.Node) *corev1.Node {
	n.Annotations[annotations.KwokNode] = annotations.KwokFake
	return n
}

func markFailed(n *corev1.Node) *corev1.Node {
	n.Annotations[annotations.Failed] = annotations.True
	return n
}

func markTerminated(n *corev1.Node) *corev1.Node {
	n.Annotations[annotations.Terminated] = annotations.True
	return n
}

func newLister(t *testing.T, nodes ...*corev1.Node) corelisters.NodeLister {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	for _, n := range nodes {
		if err := indexer.Add(n); err != nil {
			t.Fatal(err)
		}
	}
	return corelisters.NewNodeLister(indexer)
}

// TestExplainLogIsOptional asks a server for a log whose configuration says nothing of logs.
func TestExplainLogIsOptional(t *testing.T) {
	certs, err := pki.Ensure(pki.Config{Dir: filepath.Join(t.TempDir(), "pki"), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{CACert: certs.CACert, CAKey: certs.CAKey})
	if err != nil {
		t.Fatal(err)
	}
	if lines := (containerRun{}).logLines(&corev1.Pod{}, "c", s.explain); len(lines) != 1 || !strings.Contains(lines[0].text, "no output") {
		t.Errorf("got %+v", lines)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func newServer(t *testing.T) (*Server, *pki.Bundle) {
	t.Helper()
	return newServerOf(t, Config{ExplainLog: explainLog})
}

// newServerOf returns a server with certificates.
func newServerOf(t *testing.T, cfg Config) (*Server, *pki.Bundle) {
	t.Helper()
	certs, err := pki.Ensure(pki.Config{Dir: filepath.Join(t.TempDir(), "pki"), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	cfg.CACert, cfg.CAKey = certs.CACert, certs.CAKey
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, certs
}

// startKubelets starts the kubelets of two nodes, and returns a client that verifies them.
func startKubelets(t *testing.T, objects ...runtime.Object) (*fake.Clientset, *http.Client) {
	t.Helper()
	s, certs := newServer(t)
	return startServer(t, s, certs, objects...)
}

// startServer starts the kubelets of two nodes, and returns a client that verifies them.
func startServer(t *testing.T, s *Server, certs *pki.Bundle, objects ...runtime.Object) (*fake.Clientset, *http.Client) {
	t.Helper()
	nodes := []*corev1.Node{markSimulated(newNode("node-1", "172.16.0.1", "node-1")), markSimulated(newNode("node-2", "172.16.0.2"))}
	client := fake.NewClientset(append(objects, nodes[0], nodes[1])...)
	s.Start(client)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(certs.CAPEM)
	transport := &http.Transport{
		DialContext:     s.Dialer(newLister(t, nodes...), refuseNetwork),
		TLSClientConfig: &tls.Config{RootCAs: trusted},
	}
	return client, &http.Client{Transport: transport}
}

func getURL(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return doRequest(t, c, req)
}

func doRequest(t *testing.T, c *http.Client, req *http.Request) (int, string) {
	t.Helper()
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestDialByAddressAndByName(t *testing.T) {
	_, c := startKubelets(t)
	for _, host := range []string{"172.16.0.1", "node-1", "172.16.0.2"} {
		if code, body := getURL(t, c, "https://"+host+":10250/healthz"); code != http.StatusOK || body != "ok" {
			t.Errorf("%s: got %d %q", host, code, body)
		}
	}
	if _, err := c.Get("https://172.16.0.3:10250/healthz"); !errors.Is(err, errNetwork) {
		t.Errorf("an address without a node: got %v", err)
	}
}

func TestDialWaitsForStart(t *testing.T) {
	s, _ := newServer(t)
	dial := s.Dialer(newLister(t, markSimulated(newNode("node-1", "172.16.0.1"))), refuseNetwork)
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dial(late, "tcp", "172.16.0.1:10250"); !errors.Is(err, context.Canceled) {
		t.Errorf("before Start: got %v", err)
	}
	dialled := make(chan error)
	go func() {
		c, err := dial(t.Context(), "tcp", "172.16.0.1:10250")
		if err == nil {
			err = c.Close()
		}
		dialled <- err
	}()
	s.Start(fake.NewClientset())
	if err := <-dialled; err != nil {
		t.Error(err)
	}
}

func TestDialAfterClose(t *testing.T) {
	s, _ := newServer(t)
	dial := s.Dialer(newLister(t, markSimulated(newNode("node-1", "172.16.0.1"))), refuseNetwork)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := dial(t.Context(), "tcp", "172.16.0.1:10250"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestNewNamesMissingFile(t *testing.T) {
	_, err := New(Config{CACert: "no-such.crt", CAKey: "no-such.key"})
	if err == nil || !strings.HasPrefix(err.Error(), "simulated kubelets: load the CA of the cluster: open no-such.crt: ") {
		t.Errorf("got %v", err)
	}
}
