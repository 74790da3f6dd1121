package control

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

func TestControllers(t *testing.T) {
	want := []Controller{
		{Name: "deployment-controller", Aliases: []string{"deployment"}, State: "running"},
		{Name: "job-controller", State: "off", Reason: "turned off by --controllers"},
	}
	srv := httptest.NewServer(Handler(Plane{Controllers: func() []Controller { return want }, Nodes: fakeNodes{}}))
	defer srv.Close()
	client, err := NewClient(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.Controllers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestClientTellsWhyNot(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"forbidden": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) },
		"not JSON": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(handler)
			defer srv.Close()
			client, err := NewClient(&rest.Config{Host: srv.URL})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := client.Controllers(t.Context()); err == nil {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestHandlerKnowsItsPathsOnly(t *testing.T) {
	h := Handler(Plane{Controllers: func() []Controller { return nil }, Nodes: fakeNodes{}})
	for target, want := range map[string]int{
		"GET " + ControllersPath:  http.StatusOK,
		"POST " + ControllersPath: http.StatusMethodNotAllowed,
		"GET " + Path + "/v1/x":   http.StatusNotFound,
	} {
		method, path, _ := strings.Cut(target, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != want {
			t.Errorf("%s: got %d, want %d", target, w.Code, want)
		}
	}
}
