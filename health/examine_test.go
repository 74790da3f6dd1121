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

func TestExamine(t *testing.T) {
	pods := map[string]string{
		"/api/v1/namespaces/a/pods/ok":    `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"ok","namespace":"a"},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`,
		"/api/v1/namespaces/a/pods/stuck": `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"stuck","namespace":"a"},"spec":{},"status":{"phase":"Pending"}}`,
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := discoveryAnswers[r.URL.Path]
		switch {
		case ok:
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
		case pods[r.URL.Path] != "":
			fmt.Fprint(w, pods[r.URL.Path])
		case strings.HasSuffix(r.URL.Path, "/pods/gone"):
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		default:
			http.Error(w, "broken", http.StatusInternalServerError)
		}
	}))
	defer srv.Close()
	w, err := New(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]State{
		"ok":    {Status: Current},
		"stuck": {Status: InProgress, Message: "not assigned to a node by a scheduler"},
		"gone":  {Status: NotFound, Message: "does not exist"},
	} {
		s, err := w.Examine(t.Context(), "pods", "a", name)
		if err != nil || s.Status != want.Status || !strings.Contains(s.Message, want.Message) || s.Ref.String() != "Pod a/"+name {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	if _, err := w.Examine(t.Context(), "podz", "a", "ok"); err == nil {
		t.Error("an unknown kind is accepted")
	}
	if _, err := w.Examine(t.Context(), "pods", "b", "ok"); err == nil || !strings.Contains(err.Error(), "Pod b/ok") {
		t.Errorf("a broken server: %v", err)
	}
}
