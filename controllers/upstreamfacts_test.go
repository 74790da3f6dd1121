package controllers

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/ctrlplane/ctrlplane/controllers/queues"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/fakeapi"
	"github.com/ctrlplane/ctrlplane/observe"
)

// readyAPI is an API server that serves everything.
type readyAPI struct{}

func (readyAPI) WaitPolicy(context.Context) error      { return nil }
func (readyAPI) WaitServing(context.Context) error     { return nil }
func (readyAPI) DrainNamespace(string) <-chan struct{} { return nil }

// writeCA writes a certificate authority, without which two controllers decline to run.
func writeCA(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	data, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "ca"}, key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(t.TempDir(), "ca.crt"), filepath.Join(t.TempDir(), "ca.key")
	if err := os.WriteFile(keyFile, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return certFile, keyFile
}

// startUpstream runs all controllers of upstream that a feature gate does not turn off, with an API server without objects.
func startUpstream(t *testing.T) (*Supervisor, *observe.Observer) {
	t.Helper()
	server := httptest.NewServer(fakeapi.New())
	t.Cleanup(server.Close)
	o := observe.New(observe.Options{Queues: queues.All(), Process: func() observe.Process { return observe.Process{} }})
	t.Cleanup(func() { o.Close() })
	cfg := Config{
		Logger: slog.New(slog.DiscardHandler), PodCIDR: "10.0.0.0/9", List: []string{"*"}, Recorder: o.Recorder,
		Connect: func(user.Info) *rest.Config { return &rest.Config{Host: server.URL} },
	}
	for _, c := range Catalogue(nil, nil) {
		cfg.List = append(cfg.List, c.Name)
	}
	cfg.CACert, cfg.CAKey = writeCA(t)
	cfg.ServiceAccountKey = cfg.CAKey
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Start(t.Context(), readyAPI{}); err != nil {
		t.Fatal(err)
	}
	return s, o
}

// waitingWorkers returns how many goroutines of a controller wait for a key of a queue.
func waitingWorkers(t *testing.T, controller string) (n int) {
	t.Helper()
	stacks, err := observe.Stacks(controller)
	if err != nil {
		t.Fatal(err)
	}
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		if !strings.Contains(stack, "workqueue.(*Typed[...]).Get+") {
			continue
		}
		count, _, _ := strings.Cut(strings.TrimSpace(stack), " @")
		same, err := strconv.Atoi(count)
		if err != nil {
			t.Fatalf("%v: %s", err, stack)
		}
		n += same
	}
	return n
}

// uncountedWorkers are the workers of queues that have no name, or whose number is not in the table.
var uncountedWorkers = map[string]int{
	names.CertificateSigningRequestSigningController: 4,
	names.DaemonSetController:                        2,
	names.DisruptionController:                       2,
	names.EndpointsController:                        5,
	names.EndpointSliceController:                    6,
	names.JobController:                              5,
	names.PersistentVolumeClaimProtectionController:  1,
	names.PersistentVolumeBinderController:           2,
	names.ResourceQuotaController:                    1,
	names.TaintEvictionController:                    2,
}

// compareFacts returns what differs between the table and the controllers that run.
func compareFacts(t *testing.T, s *Supervisor, running observe.Snapshot) (differ []string) {
	t.Helper()
	for controller, facts := range upstreamFacts {
		want, found := uncountedWorkers[controller], map[string]bool{}
		for _, q := range running.Queues {
			if q.Controller == controller {
				want += s.WorkerCount(controller, q.Name)
				found[q.Name] = true
			}
		}
		if got := waitingWorkers(t, controller); got != want {
			differ = append(differ, fmt.Sprintf("%s has %d workers, want %d", controller, got, want))
		}
		if facts.flag != "" && want == uncountedWorkers[controller] {
			differ = append(differ, fmt.Sprintf("%s has a flag, but no queue of the table", controller))
		}
		for queue := range facts.queues {
			if !found[queue] {
				differ = append(differ, fmt.Sprintf("%s has no queue %s", controller, queue))
			}
		}
	}
	return differ
}

// A release of Kubernetes that renames a queue, or has other numbers of workers, fails here.
func TestFactsOfUpstream(t *testing.T) {
	s, o := startUpstream(t)
	var differ []string
	defer func() {
		for _, d := range differ {
			t.Error(d)
		}
	}()
	testutil.Await(t, "the controllers of the table", func() bool {
		running, err := o.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		differ = compareFacts(t, s, running)
		return len(differ) == 0
	})
}

// A misspelled resource would leave all keys of a queue unknown.
func TestKeyResourcesExist(t *testing.T) {
	known := map[string]bool{}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		known[plural.GroupResource().String()] = true
	}
	for controller, facts := range upstreamFacts {
		for queue, q := range facts.queues {
			if q.resource != "" && !known[q.resource] {
				t.Errorf("queue %s of %s: no resource %s", queue, controller, q.resource)
			}
		}
	}
}
