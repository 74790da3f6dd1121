package apiserver

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/informers"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/ctrlplane/ctrlplane/apiserver/loopback"
	"github.com/ctrlplane/ctrlplane/apiserver/pki"
	"github.com/ctrlplane/ctrlplane/etcd"
)

// assemblyEnv makes a child process of a test the one that counts goroutines.
const assemblyEnv = "APISERVER_TEST_ASSEMBLY"

// A process in which the assembly fails again and again does not collect the goroutines
// of storages, which are 260 each time, and of clients. What cannot be ended are about 60: the
// work queues of upstream's controllers, which are built and never run, and what its admission
// plugins and health checks start, which ends with a server that has run.
func TestFailedAssemblyLeavesNothing(t *testing.T) {
	if runsInChild(t) {
		return
	}
	store, err := etcd.Start(t.Context(), etcd.Config{Dir: filepath.Join(t.TempDir(), "etcd"), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	bundle := newBundle(t)
	failAssembly(t, store, bundle) // creates what exists once per process
	const more, kept = 3, 3 * 65
	const idleCallers = 32 // the store keeps up to so many: the busier the machine, the more calls were made at once
	before := runtime.NumGoroutine()
	for range more {
		failAssembly(t, store, bundle)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return runtime.NumGoroutine() <= before+kept+idleCallers, nil
	})
	if err != nil {
		var stacks strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
			t.Error(err)
		}
		t.Fatalf("%d goroutines after one assembly, %d after %d more:\n%s", before, runtime.NumGoroutine(), more, &stacks)
	}
}

// An assembly whose etcd did not start fails with the reason.
func TestAssemblyWithoutEtcd(t *testing.T) {
	if runsInChild(t) {
		return
	}
	missing := errors.New("etcd did not start")
	unreachable := Etcd{Endpoints: []string{"http://127.0.0.1:0"}, Connect: func() (*clientv3.Client, error) { return nil, missing }}
	requireFailedAssembly(t, missing, newBundle(t), unreachable)
}

// runsInChild runs the test in a process of its own, unless this is that process.
func runsInChild(t *testing.T) bool {
	t.Helper()
	if os.Getenv(assemblyEnv) != "" {
		return false
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), assemblyEnv+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return true
}

func newBundle(t *testing.T) *pki.Bundle {
	t.Helper()
	bundle, err := pki.Ensure(pki.Config{Dir: t.TempDir(), NoSync: true, IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

// failAssembly starts a server with a local API that cannot be installed, which upstream's
// servers exist before.
func failAssembly(t *testing.T, store *etcd.Server, bundle *pki.Bundle) {
	t.Helper()
	failure := errors.New("cannot be installed")
	requireFailedAssembly(t, failure, bundle, Etcd{Endpoints: []string{"http://127.0.0.1:0"}, Connect: store.Client}, LocalAPI{
		APIService:         &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: "v1.example.com"}, Spec: apiregistrationv1.APIServiceSpec{Group: "example.com", Version: "v1"}},
		SetDefinitionNames: func(*server.Config) error { return nil },
		Install:            func(*server.GenericAPIServer, informers.SharedInformerFactory) error { return failure },
	})
}

// requireFailedAssembly starts a server and checks why it fails.
func requireFailedAssembly(t *testing.T, want error, bundle *pki.Bundle, store Etcd, local ...LocalAPI) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, err = Start(t.Context(), Config{
		Handler:     loopback.NewDeferredHandler(),
		Listener:    listener,
		Etcd:        store,
		PKI:         bundle,
		ServiceCIDR: "10.96.0.0/16",
		LocalAPIs:   local,
	})
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}
