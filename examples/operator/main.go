// Command operator is an example: a small operator that uses controller-runtime and is
// tested with ctrlplanetest.
package main

import (
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/ctrlplane/ctrlplane/instrument"
)

func main() {
	ctrl.SetLogger(zap.New())
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
}

func run() error {
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	// "ctrlplane up --with operator=http://localhost:8080/metrics" shows the work queues.
	mgr, err := newManager(cfg, ctrl.Options{Metrics: server.Options{BindAddress: "localhost:8080"}})
	if err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

// newManager returns a manager with the controllers of the operator.
func newManager(cfg *rest.Config, o ctrl.Options) (ctrl.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	o.Scheme = scheme
	mgr, err := ctrl.NewManager(cfg, o)
	if err != nil {
		return nil, err
	}
	mgr = instrument.Manager(mgr) // shows the queue, the keys and the syncs to ctrlplane; with other servers it does nothing
	return mgr, (&reconciler{mgr.GetClient()}).setup(mgr)
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := addToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, nil
}
