package inprocess_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/ctrlplanetest"
	"github.com/ctrlplane/ctrlplane/ctrlplanetest/inprocess"
)

var logFile string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "inprocess-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	logFile = filepath.Join(dir, "log")
	return ctrlplanetest.Run(m, ctrlplanetest.Options{
		Nodes:       2,
		Manifests:   []string{"../testdata/widgets.yaml"},
		Controllers: []string{"*", "-job"},
		LogFile:     logFile,
		Backend:     inprocess.Backend{Configure: func(s *ctrlplane.Server) { s.Nodes.Zones = 2 }},
	})
}

// TestBehavesLikeInstalledProgram checks what differs between backends.
func TestBehavesLikeInstalledProgram(t *testing.T) {
	cp := ctrlplanetest.Shared(t)
	var namespace string
	t.Run("namespace", func(t *testing.T) {
		namespace = cp.Namespace(t)
		cp.WaitHealthy(t, cp.Apply(t, "../testdata/web.yaml")...)
		cp.WaitSettled(t)
		if len(cp.Records(t, namespace)) == 0 {
			t.Error("no records")
		}
	})
	if _, err := cp.Client().CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("namespace %s: got %v, want not found", namespace, err)
	}
	maps := cp.Client().CoreV1().ConfigMaps("default")
	t.Run("isolated", func(t *testing.T) {
		cp.Isolate(t)
		if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "litter"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	if _, err := maps.Get(t.Context(), "litter", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the ConfigMap: got %v, want not found", err)
	}
}

func TestInvalidOptions(t *testing.T) {
	cp := ctrlplanetest.Shared(t)
	nodes, err := cp.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 2 || nodes.Items[1].Labels[corev1.LabelTopologyZone] != "zone-b" {
		t.Errorf("nodes: %v, %v", nodes, err)
	}
	s, err := cp.Source().Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Controllers {
		if c.Name == "job-controller" && c.State == "running" {
			t.Error("job-controller runs")
		}
	}
	for _, file := range []string{logFile, cp.Kubeconfig()} {
		if info, err := os.Stat(file); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestSecondStartFails(t *testing.T) {
	ctrlplanetest.Shared(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	running, err := inprocess.Backend{}.Start(ctx, ctrlplanetest.Options{})
	if !errors.Is(err, ctrlplane.ErrRunning) || !errors.Is(err, ctrlplanetest.ErrBusy) || running != nil {
		t.Errorf("got %v, %v, want ErrRunning and ErrBusy", running, err)
	}
}
