// Package e2e_test tests the behaviour of a whole control plane through its API.
// Most tests use a control plane without scheduler and simulated nodes and act as
// both, by writing the status of Pods and Nodes.
package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

var logPath = flag.String("server-log", "", "log file of the control plane")

const (
	nodeMonitorPeriod = time.Second
	// nodeGracePeriod is long enough for a node that renews its lease each second to
	// stay ready on a busy machine: a fake node does not recover. Only TestNodeLifecycle
	// waits for its end.
	nodeGracePeriod = 40 * time.Second
	// defaultParallel is how many tests run in parallel by default: they mostly wait.
	defaultParallel = 16
)

// controlPlane is the control plane of this process, with the administrator's
// clients. TestMain sets it before any test runs.
var controlPlane struct {
	server     *ctrlplane.Server
	config     *rest.Config
	client     *kubernetes.Clientset
	dynamic    *dynamic.DynamicClient
	extensions *apiextensions.Clientset
}

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(cyclesEnv) != "" {
		if err := runCycles(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if what := os.Getenv(startEnv); what != "" {
		if err := runStart(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code, err := runWithControlPlane(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// runWithControlPlane runs the tests against a control plane with short timers. It
// returns an error if the control plane ends before Close, or Close fails.
func runWithControlPlane(tests func() int) (code int, err error) {
	srv := &ctrlplane.Server{
		Scheduler: ctrlplane.SchedulerConfig{Disabled: true},
		Controllers: ctrlplane.ControllersConfig{Args: []string{
			"node-monitor-period=" + nodeMonitorPeriod.String(),
			"node-monitor-grace-period=" + nodeGracePeriod.String(),
			"horizontal-pod-autoscaler-sync-period=1s",
		}},
		// A trace is checked. The tests make some 50,000 without those in child processes, and more on a busy
		// machine: the longer they take, the more leases are renewed and syncs repeated.
		Observe: ctrlplane.ObserveConfig{Records: 1 << 17},
	}
	if os.Getenv(workloadsEnv) != "" {
		enableWorkloads(srv)
	}
	if *logPath != "" {
		srv.Log = &ctrlplane.LogConfig{Path: *logPath, Verbosity: 2}
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	if err := srv.Start(ctx); err != nil {
		return 1, fmt.Errorf("start: %w", err)
	}
	if err := connectClients(srv); err != nil {
		return 1, err
	}
	if err := testutil.SetParallel(defaultParallel); err != nil {
		return 1, err
	}
	code = tests()
	select {
	case <-srv.Done():
		return code, fmt.Errorf("the control plane ended during the tests: %w", srv.Err())
	default:
	}
	if err := srv.Close(); err != nil {
		return code, fmt.Errorf("close: %w", err)
	}
	return code, nil
}

func connectClients(srv *ctrlplane.Server) (err error) {
	controlPlane.server = srv
	controlPlane.config = srv.RESTConfig()
	if controlPlane.client, err = kubernetes.NewForConfig(controlPlane.config); err != nil {
		return err
	}
	if controlPlane.dynamic, err = dynamic.NewForConfig(controlPlane.config); err != nil {
		return err
	}
	controlPlane.extensions, err = apiextensions.NewForConfig(controlPlane.config)
	return err
}
