package command_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// Clients that do not read their watches, as a debugger's or a suspended kubectl's, do
// not fill the memory of the control plane. When they read again, no event is missing.
func TestStalledWatches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := program.Up(t, dir, minimal()...)
	client := p.Client(t)
	cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	maps := client.CoreV1().ConfigMaps("default")
	m, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "large"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const watches, updates = 3, 30
	var bodies []io.ReadCloser
	for range watches {
		bodies = append(bodies, openWatch(t, cfg, "/api/v1/namespaces/default/configmaps?watch=1&fieldSelector=metadata.name%3Dlarge&resourceVersion="+m.ResourceVersion))
	}
	before := liveHeap(t, client)
	text := strings.Repeat("x", 900_000)
	var written []string
	for i := range updates {
		m.Data = map[string]string{"text": text, "update": strconv.Itoa(i)}
		if m, err = maps.Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		written = append(written, m.ResourceVersion)
	}
	// About 33 MiB are etcd's own log of the writes, and a watch may keep 16 MiB. Without a limit it keeps twice the 26 MiB.
	if grown := liveHeap(t, client) - before; grown > 110<<20 {
		t.Errorf("the heap has grown by %d MiB for %d watches that are not read", grown>>20, watches)
	}
	for _, body := range bodies {
		decoder := json.NewDecoder(body)
		for i, want := range written {
			var event struct{ Object corev1.ConfigMap }
			if err := decoder.Decode(&event); err != nil {
				t.Fatalf("event %d: %v", i, err)
			}
			if got := event.Object.ResourceVersion; got != want {
				t.Fatalf("event %d has revision %q, want %s", i, got, want)
			}
		}
	}
}

// openWatch opens a watch on a connection of its own.
func openWatch(t *testing.T, cfg *rest.Config, path string) io.ReadCloser {
	t.Helper()
	own := rest.CopyConfig(cfg)
	own.Dial = (&net.Dialer{}).DialContext // configurations with a dialer share no connection
	client, err := rest.HTTPClientFor(own)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, cfg.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("watch: %s", resp.Status)
	}
	return resp.Body
}

var heapAlloc = regexp.MustCompile(`# HeapAlloc = (\d+)`)

// liveHeap returns how many bytes of the program's heap are in use after a collection.
func liveHeap(t *testing.T, client *kubernetes.Clientset) int64 {
	t.Helper()
	body, err := client.RESTClient().Get().AbsPath("/debug/pprof/heap").Param("debug", "1").Param("gc", "1").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := heapAlloc.FindSubmatch(body)
	if found == nil {
		t.Fatal("the heap profile has no line HeapAlloc")
	}
	n, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
