package inspect

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/observe"
)

// server answers the given paths with JSON. It answers other paths as the API server
// answers paths that it does not serve.
type server struct {
	mu      sync.Mutex
	answers map[string]string
	hang    string // a path that is never answered
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	body, ok := s.answers[r.URL.Path]
	s.mu.Unlock()
	if r.URL.Path == s.hang {
		<-r.Context().Done()
		return
	}
	if !ok {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Warning", `299 - "this is old"`)
	if strings.Contains(body, `"kind":"Status"`) {
		w.WriteHeader(http.StatusNotFound)
	}
	w.Write([]byte(body))
}

// RoundTrip serves a request without a network, as the clocks of some tests are fake.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

func (s *server) set(path, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = body
}

const (
	listed = `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[{"metadata":{"name":"kept","uid":"2",` +
		`"ownerReferences":[{"apiVersion":"example.com/v1","kind":"Widget","name":"w","uid":"1"}]}}]}`
	verbs = `"verbs":["get","list","watch","delete"]`
)

func discoveryAnswers(version string) (groups, resources string) {
	return `{"kind":"APIGroupList","groups":[{"name":"example.com","versions":[{"groupVersion":"example.com/` + version + `","version":"` + version + `"}],` +
			`"preferredVersion":{"groupVersion":"example.com/` + version + `","version":"` + version + `"}}]}`,
		`{"kind":"APIResourceList","groupVersion":"example.com/` + version + `","resources":[` +
			`{"name":"widgets","kind":"Widget",` + verbs + `},{"name":"gears","kind":"Gear",` + verbs + `}]}`
}

// startServer serves a Widget w that owns a Gear, in a version of example.com.
func startServer(t *testing.T, version string) (*server, *Inspector) {
	t.Helper()
	s := &server{answers: map[string]string{"/api": `{"kind":"APIVersions","versions":[]}`}}
	s.serve(version)
	i, err := New(&rest.Config{Host: "http://fake", Transport: s, QPS: 0.001, Burst: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s, i
}

func (s *server) serve(version string) {
	groups, resources := discoveryAnswers(version)
	s.set("/apis", groups)
	path := "/apis/example.com/" + version
	s.set(path, resources)
	s.set(path+"/widgets/w", `{"kind":"Widget","apiVersion":"example.com/`+version+`","metadata":{"name":"w","uid":"1"}}`)
	s.set(path+"/widgets/gone", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,`+
		`"message":"widgets \"gone\" not found","details":{"name":"gone","group":"example.com","kind":"widgets"}}`)
	s.set(path+"/gears", listed)
	s.set(path+"/widgets", `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[]}`)
}

var (
	widgetW = observe.Object{Group: "example.com", Resource: "widgets", Kind: "Widget", Name: "w", UID: "1"}
	kept    = observe.Object{Group: "example.com", Resource: "gears", Kind: "Gear", Name: "kept", UID: "2"}
)

func TestInspectOverHTTP(t *testing.T) {
	_, i := startServer(t, "v1")
	got, err := i.Inspect(t.Context(), observe.Object{Group: "example.com", Kind: "Widget", Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	want := observe.Inspection{
		Object:     widgetW,
		YAML:       "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: w\n  uid: \"1\"\n",
		Dependents: []observe.Object{kept},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := i.Inspect(t.Context(), observe.Object{Group: "example.com", Kind: "Widget", Name: "gone"}); err != nil || !got.Gone {
		t.Errorf("got %+v, %v; want that it is gone", got, err)
	}
}

func TestFollowsServedVersion(t *testing.T) {
	s, i := startServer(t, "v1")
	if _, err := i.Inspect(t.Context(), widgetW); err != nil {
		t.Fatal(err)
	}
	delete(s.answers, "/apis/example.com/v1/widgets/w") // between the discovery and the request
	if got, err := i.Inspect(t.Context(), widgetW); err == nil || got.Gone {
		t.Errorf("the path is not served: got %+v, want an error", got)
	}
	clear(s.answers)
	s.set("/api", `{"kind":"APIVersions","versions":[]}`)
	s.serve("v2")
	got, err := i.Inspect(t.Context(), widgetW)
	if err != nil || !strings.HasPrefix(got.YAML, "apiVersion: example.com/v2\n") {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestNamesListsThatTimeOut(t *testing.T) { synctest.Test(t, testNamesListsThatTimeOut) }

func testNamesListsThatTimeOut(t *testing.T) {
	s, i := startServer(t, "v1")
	s.hang = "/apis/example.com/v1/widgets"
	i.timeout = 300 * time.Millisecond
	got, err := i.Inspect(t.Context(), widgetW)
	if diff := cmp.Diff([]observe.Object{kept}, got.Dependents); diff != "" || got.YAML == "" {
		t.Errorf("the rest is missing: %+v", got)
	}
	want := "inspect Widget w: incomplete: list widgets.example.com: no answer within 300ms: context deadline exceeded"
	if err == nil || err.Error() != want || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestTimeout(t *testing.T) {
	for _, path := range []string{"/apis", "/apis/example.com/v1/widgets/w"} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, i := startServer(t, "v1")
				s.hang = path
				i.timeout = 100 * time.Millisecond
				got, err := i.Inspect(t.Context(), widgetW)
				if err == nil || !strings.HasSuffix(err.Error(), "no answer within 100ms: context deadline exceeded") {
					t.Errorf("got %v", err)
				}
				if diff := cmp.Diff(observe.Inspection{}, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestCanceledContext(t *testing.T) {
	_, i := startServer(t, "v1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := i.Inspect(ctx, widgetW); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestServerIsUnreachable(t *testing.T) {
	refused := func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED }
	i, err := New(&rest.Config{Host: "http://fake", Dial: refused})
	if err != nil {
		t.Fatal(err)
	}
	_, err = i.Inspect(t.Context(), widgetW)
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "inspect Widget w: discover the resources of the API server: Get ") {
		t.Errorf("got %v", err)
	}
}

func TestNewRefusesInvalidConfig(t *testing.T) {
	if _, err := New(&rest.Config{Host: "://"}); err == nil || !strings.HasPrefix(err.Error(), "inspect: ") {
		t.Errorf("got %v", err)
	}
}

func TestRefusesInvalidNames(t *testing.T) {
	_, i := startServer(t, "v1")
	for _, name := range []string{"..", "a/b", "a%b"} {
		if got, err := i.Inspect(t.Context(), observe.Object{Group: "example.com", Kind: "Widget", Name: name}); err == nil || got.Gone {
			t.Errorf("%q: got %+v, %v", name, got, err)
		}
	}
}
