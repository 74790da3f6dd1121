package health

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// listedPods are a Pod that has failed, one that is not ready and one that is healthy.
const listedPods = `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[
{"metadata":{"name":"ok","namespace":"b","uid":"1","creationTimestamp":"2026-01-01T00:00:00Z"},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}},
{"metadata":{"name":"wait","namespace":"a"},"spec":{},"status":{"phase":"Pending"}},
{"metadata":{"name":"bad","namespace":"c"},"status":{"phase":"Failed"}}]}`

func TestListSortsByHealth(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch answer, ok := discoveryAnswers[r.URL.Path]; {
		case ok:
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
		case r.URL.Path == "/api/v1/pods":
			fmt.Fprint(w, listedPods)
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	w, err := New(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.List(t.Context(), "po")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range l.Items {
		got = append(got, item.Ref.Namespace+"/"+item.Ref.Name+" "+string(item.Status))
	}
	if want := "c/bad Failed, a/wait InProgress, b/ok Current"; strings.Join(got, ", ") != want || l.Kind != "Pod" || l.Resource.Resource != "pods" {
		t.Errorf("%s %s: %v, want %s", l.Kind, l.Resource, got, want)
	}
	for _, item := range l.Items {
		if item.Message == "" {
			t.Errorf("%s: no reason", item.Ref)
		}
	}
	for kind, want := range map[string]string{
		"podz":   `unknown kind "podz": did you mean "pod"?`,
		"nosuch": `unknown kind "nosuch": use a name that kubectl accepts, such as pods or deploy`,
	} {
		if _, err := w.List(t.Context(), kind); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
