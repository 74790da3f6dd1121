package ctrlplane_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/observe"
)

// warnings counts what client-go passes to the process-wide warning handler.
type warnings struct{ count atomic.Int64 }

func (w *warnings) HandleWarningHeader(int, string, string) { w.count.Add(1) }

func gcPercent() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// ownGoroutines returns the stacks of goroutines that run this module's code, except
// the caller's and those of tests.
func ownGoroutines() []string {
	buf := make([]byte, 16<<20)
	var own []string
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "github.com/ctrlplane/ctrlplane") && !strings.Contains(stack, "ctrlplane_test.") {
			own = append(own, stack)
		}
	}
	return own
}

// requireNoOwnGoroutines checks that the goroutines of this module end: one whose end Close has awaited may
// not have returned yet.
func requireNoOwnGoroutines(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for own := ownGoroutines(); len(own) > 0; own = ownGoroutines() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("goroutines are left:\n%s", strings.Join(own, "\n\n"))
		}
	}
}

// TestCloseRestoresTheProcess starts a control plane with all that changes
// process-wide settings.
func TestCloseRestoresTheProcess(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	handler := &warnings{}
	rest.SetDefaultWarningHandler(handler)
	defer rest.SetDefaultWarningHandler(rest.WarningLogger{})
	var logged atomic.Bool
	defer klog.CaptureState().Restore()
	klog.SetLogger(funcr.New(func(_, args string) { logged.Store(true) }, funcr.Options{}))
	percent := gcPercent()
	const gate = "AllAlpha"
	if utilfeature.DefaultFeatureGate.Enabled(gate) {
		t.Fatal("the gate is on already")
	}

	srv := &ctrlplane.Server{
		APIServer: ctrlplane.APIServerConfig{FeatureGates: "AllAlpha=false,WatchList=false"},
		Nodes:     ctrlplane.NodesConfig{Count: 1, Labels: []string{"disk=ssd"}},
		Log:       &ctrlplane.LogConfig{},
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var once sync.Once
	srv.OnStage = func(ctrlplane.Stage) {
		// The first stage begins after the configuration was copied.
		once.Do(func() {
			srv.Nodes.Count, srv.Nodes.Labels[0], srv.Log.Path = 3, "disk=hdd", filepath.Join(temp, "other.log")
		})
	}
	if err := srv.Start(ctx); err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	if err := (&ctrlplane.Server{}).Start(ctx); !errors.Is(err, ctrlplane.ErrRunning) {
		t.Errorf("a second Server: got %v, want ErrRunning", err)
	}
	client, err := kubernetes.NewForConfig(srv.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "disk=ssd"})
	if err != nil || len(nodes.Items) != 1 {
		t.Errorf("got %d nodes and %v, want the one that was configured before Start", len(nodes.Items), err)
	}
	if want := filepath.Join(srv.DataDir(), ctrlplane.LogFile); srv.LogPath() != want {
		t.Errorf("log file %s, want %s", srv.LogPath(), want)
	}
	if got := handler.count.Load(); got != 0 {
		t.Errorf("clients inside the process passed on %d warnings, want none", got)
	}

	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	requireNoOwnGoroutines(t)
	if got := gcPercent(); got != percent {
		t.Errorf("GC percentage %d, want %d", got, percent)
	}
	if !utilfeature.DefaultFeatureGate.Enabled("WatchList") {
		t.Error("a feature gate is still off")
	}
	logged.Store(false)
	klog.Info("after Close")
	if !logged.Load() {
		t.Error("klog's logger was not restored")
	}
	warnThroughDefaultHandler(t)
	if got := handler.count.Load(); got != 1 {
		t.Errorf("the process-wide warning handler received %d warnings, want the 1 of another client", got)
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "*")); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

// warnThroughDefaultHandler calls a server that warns, as another client of the process.
func warnThroughDefaultHandler(t *testing.T) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Warning", `299 - "deprecated"`)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"Namespace","apiVersion":"v1"}`)
	}))
	defer srv.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), corev1.NamespaceDefault, metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
}

// ignoreExits keeps upstream's post-start hooks from exiting the process, as they do if the API server stops
// while it starts. It is not undone: a hook may read klog.OsExit later.
var ignoreExits = sync.OnceFunc(func() { klog.OsExit = func(int) { runtime.Goexit() } })

func TestCloseInterruptsStart(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	ignoreExits()
	srv := &ctrlplane.Server{}
	if err := srv.Close(); err != nil {
		t.Errorf("before Start: %v", err)
	}
	closed := make(chan error, 1)
	var once sync.Once
	srv.OnStage = func(s ctrlplane.Stage) {
		if s.Name == "certificates" {
			once.Do(func() {
				interrupted := srv.StartInterrupted()
				go func() { closed <- srv.Close() }()
				<-interrupted
			})
		}
	}
	err := srv.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the start was interrupted: the Server was closed") {
		t.Errorf("Start: got %v, want that it was interrupted", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
	select {
	case <-srv.Done():
	default:
		t.Error("Done is open after Close")
	}
	if entries, err := os.ReadDir(temp); err != nil || len(entries) > 0 {
		t.Errorf("files are left: %v, %v", entries, err)
	}
	requireNoOwnGoroutines(t)
}

func TestStartReportsWrongConfiguration(t *testing.T) {
	var usage ctrlplane.UsageError
	for name, srv := range map[string]*ctrlplane.Server{
		"--pod-cidr":           {Network: ctrlplane.NetworkConfig{PodCIDR: "10.0.0.0"}},
		"--observe-records":    {Observe: ctrlplane.ObserveConfig{Records: observe.MaxRecords + 1}},
		"--host":               {Hosts: []string{"*.evil"}},
		"listen address":       {Listen: "127.0.0.1"},
		"--scheduler-config":   {Scheduler: ctrlplane.SchedulerConfig{Disabled: true, ConfigFile: "x"}},
		"--kube-apiserver-arg": {APIServer: ctrlplane.APIServerConfig{Args: []string{"no-such-flag=1"}}},
	} {
		err := srv.Start(t.Context())
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want a UsageError that names it", name, err)
		}
	}
	srv := &ctrlplane.Server{Manifests: []string{filepath.Join(t.TempDir(), "missing.yaml")}}
	requireNoSnapshots(t, srv, "not started")
	if err := srv.Start(t.Context()); err == nil {
		t.Error("a missing manifest was accepted")
	}
	requireNoSnapshots(t, srv, "has ended")
	if !srv.StartFailed() {
		t.Error("a start that has failed is not said to have")
	}
	if err := srv.Start(t.Context()); !errors.Is(err, ctrlplane.ErrStarted) {
		t.Errorf("another start: got %v, want ErrStarted", err)
	}
}

// requireNoSnapshots checks what the methods for snapshots say of a control plane that does not run.
func requireNoSnapshots(t *testing.T, srv *ctrlplane.Server, want string) {
	t.Helper()
	_, save := srv.SaveSnapshot(t.Context())
	_, restore := srv.RestoreSnapshot(t.Context(), nil)
	_, reset := srv.Reset(t.Context())
	for _, err := range []error{save, restore, reset} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
