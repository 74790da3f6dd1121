package objectclients

import (
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// TestNew: the configuration of the caller stays as it is, and each request names a program.
func TestNew(t *testing.T) {
	agents := make(chan string, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		agents <- req.UserAgent()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"PodList","apiVersion":"v1","items":[]}`)) // a client that has left is no failure
	}))
	defer server.Close()
	cfg := &rest.Config{Host: server.URL, QPS: 1}
	clients, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.QPS != 1 || cfg.UserAgent != "" {
		t.Errorf("the configuration was changed: %+v", cfg)
	}
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	if _, err := clients.Objects.Resource(pods).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := <-agents; got != rest.DefaultKubernetesUserAgent() {
		t.Errorf("user agent %q", got)
	}
}
