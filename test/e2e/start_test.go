package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// startEnv makes the process start one control plane and print a report: startCounts
// the work of the start, startSeeded and startUnseeded the objects.
const (
	startEnv      = "CTRLPLANE_E2E_START"
	startCounts   = "counts"
	startSeeded   = "seeded"
	startUnseeded = "unseeded"
)

// startWork has figures of a start that do not depend on the load of the machine.
type startWork struct {
	Requests  int64 // requests for objects until it is ready
	Revision  int64 // of the store at that time; the seed is one write
	Allocated int64 // MiB
}

// TestStartWorkIsBounded fails when a start does more work than before. Benchmarks
// show that too, but do not run for every change.
func TestStartWorkIsBounded(t *testing.T) {
	t.Parallel()
	var got startWork
	startInChild(t, startCounts, &got)
	t.Logf("%+v", got)
	// Measured: 44–47 requests, revision 24–28, 168–184 MiB.
	for _, limit := range []struct {
		what      string
		got, most int64
	}{
		{"requests", got.Requests, 70},
		{"writes", got.Revision, 40},
		{"MiB allocated", got.Allocated, 240},
	} {
		if limit.got > limit.most || limit.got == 0 {
			t.Errorf("%d %s, want at most %d: find out what the start does in addition", limit.got, limit.what, limit.most)
		}
	}
}

// TestSeedMatchesUpstream compares a control plane that started with the seed with one
// that created all objects itself.
func TestSeedMatchesUpstream(t *testing.T) {
	t.Parallel()
	var made, seeded map[string]any
	startInChild(t, startUnseeded, &made)
	startInChild(t, startSeeded, &seeded)
	if len(made) < 150 {
		t.Errorf("upstream created %d objects, want the whole policy", len(made))
	}
	if diff := cmp.Diff(made, seeded); diff != "" {
		t.Errorf("the seed is out of date (-upstream +seed): run \"make seed\"\n%s", diff)
	}
}

func startInChild(t *testing.T, what string, into any) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), startEnv+"="+what, "TMPDIR="+t.TempDir())
	out, stderr, code := program.Run(t, cmd)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	testutil.DecodeJSON(t, out, into)
}

// runStart starts a control plane in the child process and prints the report. How long that takes
// depends on the machine: only the deadline of the tests bounds it.
func runStart(what string) error {
	ctx := context.Background()
	srv := &ctrlplane.Server{Nodes: ctrlplane.NodesConfig{Count: 1}}
	if what != startCounts {
		srv.Nodes.Count, srv.Scheduler.Disabled = 0, true
	}
	if what == startUnseeded {
		srv.APIServer.Args = []string{"etcd-prefix=/registry"} // upstream's own default
	}
	if err := srv.Start(ctx); err != nil {
		return err
	}
	var told any
	var err error
	if what == startCounts {
		told, err = countStartWork(ctx, srv)
	} else {
		told, err = readContents(ctx, srv)
	}
	if err := errors.Join(err, srv.Close()); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(told)
}

func countStartWork(ctx context.Context, srv *ctrlplane.Server) (startWork, error) {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	s, err := srv.Observer().Snapshot(ctx)
	if err != nil {
		return startWork{}, err
	}
	requests, err := countRequests(ctx, srv)
	return startWork{requests, s.Process.EtcdRevision, int64(mem.TotalAlloc >> 20)}, err
}

// countRequests returns how many requests for objects the API server has served.
func countRequests(ctx context.Context, srv *ctrlplane.Server) (n int64, err error) {
	client, err := kubernetes.NewForConfig(srv.RESTConfig())
	if err != nil {
		return 0, err
	}
	text, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		labels, value, ok := strings.Cut(line, "} ")
		if !ok || !strings.HasPrefix(labels, "apiserver_request_total{") || strings.Contains(labels, `,resource=""`) {
			continue
		}
		times, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if err != nil {
			return 0, err
		}
		n += times
	}
	return n, nil
}

// seededResources are the resources in the seed.
var seededResources = []schema.GroupVersionResource{
	{Version: "v1", Resource: "namespaces"},
	{Version: "v1", Resource: "serviceaccounts"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
	{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Resource: "flowschemas"},
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Resource: "prioritylevelconfigurations"},
	{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"},
	{Group: "networking.k8s.io", Version: "v1", Resource: "servicecidrs"},
}

// readContents returns the objects of those resources once the control plane has
// settled, by resource and name, without fields that differ each time.
func readContents(ctx context.Context, srv *ctrlplane.Server) (map[string]any, error) {
	if err := settled.Wait(ctx, srv.Observer(), retryHorizon, nil); err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(srv.RESTConfig())
	if err != nil {
		return nil, err
	}
	all := map[string]any{}
	for _, gvr := range seededResources {
		list, err := client.Resource(gvr).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", gvr.Resource, err)
		}
		for _, item := range list.Items {
			all[strings.Join([]string{gvr.Resource, item.GetNamespace(), item.GetName()}, "/")] = stripVolatileFields(item)
		}
	}
	return all, nil
}

// stripVolatileFields removes identity, times and managed fields from an object.
func stripVolatileFields(item unstructured.Unstructured) map[string]any {
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"} {
		unstructured.RemoveNestedField(item.Object, "metadata", field)
	}
	conditions, _, _ := unstructured.NestedSlice(item.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok {
			maps.DeleteFunc(condition, func(key string, _ any) bool { return strings.HasSuffix(key, "Time") })
		}
	}
	if len(conditions) > 0 {
		slices.SortFunc(conditions, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		item.Object["status"].(map[string]any)["conditions"] = conditions
	}
	return item.Object
}
