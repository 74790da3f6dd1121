package health

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestChangedFields(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if answer, ok := discoveryAnswers[r.URL.Path]; ok {
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
			return
		}
		q := r.URL.Query()
		phase, isPast := map[string]string{"7": "Pending", "8": "Running"}[q.Get("resourceVersion")]
		if !isPast || q.Get("resourceVersionMatch") != "Exact" || q.Get("fieldSelector") != "metadata.name=web" || r.URL.Path != "/api/v1/namespaces/a/pods" {
			http.Error(w, "no such request is expected", http.StatusGone)
			return
		}
		fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"web","resourceVersion":%q,"generation":%s,
			"managedFields":[{"time":%[1]q}]},"status":{"phase":%[3]q}}]}`, q.Get("resourceVersion"), q.Get("resourceVersion"), phase)
	}))
	defer srv.Close()
	w, err := New(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	web := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "a", Name: "web"}
	if got, err := w.ChangedFields(t.Context(), web, "8"); err != nil || !slices.Equal(got, []string{"status.phase"}) {
		t.Errorf("got %q, %v", got, err)
	}
	for _, version := range []string{"", "x", "1", "20"} {
		if got, err := w.ChangedFields(t.Context(), web, version); err == nil {
			t.Errorf("version %q: %q", version, got)
		}
	}
}
