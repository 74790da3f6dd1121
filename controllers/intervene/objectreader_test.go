package intervene

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// fakeAPIServer answers GETs with the object at that path, and writes by calling do.
type fakeAPIServer struct {
	mu      sync.Mutex
	objects map[string]string // JSON by path
	do      func(s *fakeAPIServer, req *http.Request) (status int, body string)
	media   string // of the answers to writes; "" = JSON
	gets    []string
	broken  bool // GETs are forbidden
}

func (s *fakeAPIServer) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.Method != http.MethodGet {
		status, body := s.do(s, req)
		media := s.media
		if media == "" {
			media = "application/json"
		}
		return newResponse(status, media, body), nil
	}
	s.gets = append(s.gets, req.URL.Path)
	if s.broken {
		return newResponse(http.StatusForbidden, "application/json", `{"kind":"Status"}`), nil
	}
	if body, ok := s.objects[req.URL.Path]; ok {
		return newResponse(http.StatusOK, "application/json", body), nil
	}
	return newResponse(http.StatusNotFound, "application/json", `{"kind":"Status","code":404}`), nil
}

func newResponse(status int, media, body string) *http.Response {
	return &http.Response{StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)),
		Header: http.Header{"Content-Type": {media}}, Body: io.NopCloser(strings.NewReader(body))}
}

// storeAndReply answers a write with the object that it stores.
func storeAndReply(object string) func(*fakeAPIServer, *http.Request) (int, string) {
	return func(s *fakeAPIServer, req *http.Request) (int, string) {
		s.objects[req.URL.Path] = object
		return http.StatusOK, object
	}
}

func podJSON(uid, version, more string) string {
	return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"default","uid":%q,"resourceVersion":%q,"managedFields":[{"manager":"x"}]}%s}`, uid, version, more)
}

// shownPodJSON returns the same without managed fields.
func shownPodJSON(uid, version, more string) string {
	return strings.Replace(podJSON(uid, version, more), `,"managedFields":[{"manager":"x"}]`, "", 1)
}

// encodeProtobuf returns an object as API servers send it.
func encodeProtobuf(t *testing.T, obj kruntime.Object) string {
	t.Helper()
	info, _ := kruntime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), kruntime.ContentTypeProtobuf)
	data, err := kruntime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestStepReportsBeforeAndAfter(t *testing.T) {
	const status = `{"kind":"Status","status":"Success"}`
	const refused = `{"kind":"Status","status":"Failure","message":"no","code":403}`
	secret := `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"hush"}},"data":{"k":"aHVzaA=="}}`
	masked := strings.NewReplacer(`"hush"`, `"*** (4 bytes)"`, `"aHVzaA=="`, `"*** (4 bytes)"`).Replace(secret)
	made := encodeProtobuf(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-x", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x"}}}})
	pods, secrets := pods, "/api/v1/namespaces/default/secrets"
	for name, test := range map[string]struct {
		method, path  string
		stored        string // the object before the write
		at            string // its path, if that is not the path of the write
		do            func(*fakeAPIServer, *http.Request) (int, string)
		media         string
		before, after string
		unseen        string
		broken        bool
	}{
		"update": {method: "PUT", path: pods + "/a", stored: podJSON("1", "7", ""), do: storeAndReply(podJSON("1", "8", `,"spec":{"a":1}`)),
			before: shownPodJSON("1", "7", ""), after: shownPodJSON("1", "8", `,"spec":{"a":1}`)},
		"status, with a concurrent write": {method: "PUT", path: pods + "/a/status", at: pods + "/a", stored: podJSON("1", "7", ""),
			do: func(s *fakeAPIServer, _ *http.Request) (int, string) {
				s.objects[pods+"/a"] = podJSON("1", "9", "")
				return http.StatusOK, podJSON("1", "8", "")
			}, before: shownPodJSON("1", "7", ""), after: shownPodJSON("1", "8", "")},
		"patch that creates": {method: "PATCH", path: pods + "/a", do: storeAndReply(podJSON("1", "1", "")), after: shownPodJSON("1", "1", "")},
		"create, in protobuf": {method: "POST", path: pods, media: kruntime.ContentTypeProtobuf,
			do:    func(*fakeAPIServer, *http.Request) (int, string) { return http.StatusCreated, made },
			after: `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-x"},"spec":{"containers":null},"status":{}}`},
		"delete": {method: "DELETE", path: pods + "/a", stored: podJSON("1", "7", ""),
			do: func(s *fakeAPIServer, _ *http.Request) (int, string) {
				delete(s.objects, pods+"/a")
				return 200, podJSON("1", "7", "")
			},
			before: shownPodJSON("1", "7", "")},
		"delete with finalizers": {method: "DELETE", path: pods + "/a", stored: podJSON("1", "7", ""),
			do:     storeAndReply(podJSON("1", "8", `,"deletionGracePeriodSeconds":0`)),
			before: shownPodJSON("1", "7", ""), after: shownPodJSON("1", "8", `,"deletionGracePeriodSeconds":0`)},
		"delete, with a new object of that name": {method: "DELETE", path: pods + "/a", stored: podJSON("1", "7", ""),
			do:     storeAndReply(podJSON("2", "9", "")),
			before: shownPodJSON("1", "7", "")},
		"binding": {method: "POST", path: pods + "/a/binding", at: pods + "/a", stored: podJSON("1", "7", ""),
			do: func(s *fakeAPIServer, _ *http.Request) (int, string) {
				s.objects[pods+"/a"] = podJSON("1", "8", "")
				return http.StatusCreated, status
			},
			before: shownPodJSON("1", "7", ""), after: shownPodJSON("1", "8", "")},
		"refused": {method: "PUT", path: pods + "/a", stored: podJSON("1", "7", ""),
			do: func(*fakeAPIServer, *http.Request) (int, string) { return http.StatusForbidden, refused }},
		"delete of a collection": {method: "DELETE", path: pods, do: func(*fakeAPIServer, *http.Request) (int, string) { return 200, status },
			unseen: "the write is to more than one object"},
		"object that cannot be read": {method: "PUT", path: pods + "/a", stored: podJSON("1", "7", ""), broken: true, do: storeAndReply(podJSON("1", "8", "")),
			unseen: "it cannot be read: 403 Forbidden"},
		"secret": {method: "PUT", path: secrets + "/a", stored: secret, do: storeAndReply(secret), before: masked, after: masked},
	} {
		t.Run(name, func(t *testing.T) {
			api := &fakeAPIServer{objects: map[string]string{}, do: test.do, media: test.media, broken: test.broken}
			if test.at == "" {
				test.at = test.path
			}
			if test.stored != "" {
				api.objects[test.at] = test.stored
			}
			g := NewGate(ObjectReader{})
			g.objects = ObjectReader{api}
			mustPause(t, g)
			sent := make(chan error, 1)
			go func() { sent <- sendRequest(t.Context(), gateTransport{api, g}, test.method, test.path, "{}") }()
			s, err := g.step(t.Context(), t.Context())
			if err := <-sent; err != nil {
				t.Fatal(err)
			}
			if err != nil || s.UnknownReason != test.unseen {
				t.Fatalf("unseen %q: %v", s.UnknownReason, err)
			}
			compareJSON(t, "before", test.before, s.Before)
			compareJSON(t, "after", test.after, s.After)
		})
	}
}

// TestWritesOfCustomResourcesNameTheKind: it is in the body, or in the object before or after the write.
func TestWritesOfCustomResourcesNameTheKind(t *testing.T) {
	const sites = "/apis/example.com/v1/namespaces/default/sites"
	const site = `{"kind":"Site","apiVersion":"example.com/v1","metadata":{"name":"a","namespace":"default"}}`
	remove := func(s *fakeAPIServer, req *http.Request) (int, string) {
		delete(s.objects, req.URL.Path)
		return http.StatusOK, `{"kind":"Status","status":"Success"}`
	}
	for name, test := range map[string]struct {
		method, path, body string
		do                 func(*fakeAPIServer, *http.Request) (int, string)
		held, stepped      string
	}{
		"create":      {"POST", sites, site, storeAndReply(site), "Site default/a", "Site default/a"},
		"update":      {"PUT", sites + "/a", site, storeAndReply(site), "Site default/a", "Site default/a"},
		"merge patch": {"PATCH", sites + "/a", `{"metadata":{"labels":{"a":"b"}}}`, storeAndReply(site), "sites.example.com default/a", "Site default/a"},
		"delete":      {"DELETE", sites + "/a", `{"kind":"DeleteOptions","apiVersion":"v1"}`, remove, "sites.example.com default/a", "Site default/a"},
	} {
		t.Run(name, func(t *testing.T) {
			api := &fakeAPIServer{objects: map[string]string{sites + "/a": site}, do: test.do}
			g := NewGate(ObjectReader{api})
			mustPause(t, g)
			sent := make(chan error, 1)
			go func() { sent <- sendRequest(t.Context(), gateTransport{api, g}, test.method, test.path, test.body) }()
			awaitHeld(t, g, 1)
			held, _ := g.HeldWrites(1)
			if got := held[0].Object.String(); got != test.held {
				t.Errorf("held: %s, want %s", got, test.held)
			}
			s, err := g.step(t.Context(), t.Context())
			if err := errors.Join(err, <-sent); err != nil {
				t.Fatal(err)
			}
			if got := s.Object.String(); got != test.stepped {
				t.Errorf("stepped: %s, want %s", got, test.stepped)
			}
		})
	}
}

func compareJSON(t *testing.T, what, want string, got json.RawMessage) {
	t.Helper()
	parse := func(s string) (v any) {
		if s != "" {
			testutil.DecodeJSON(t, s, &v)
		}
		return v
	}
	if diff := cmp.Diff(parse(want), parse(string(got))); diff != "" {
		t.Errorf("%s: -want +got:\n%s", what, diff)
	}
}

// Concurrent steps return each write once, and release one at a time.
func TestConcurrentStepsAreSerialized(t *testing.T) {
	const n = 100
	var mu sync.Mutex
	flying, most := 0, 0
	api := &funcTransport{do: func() {
		mu.Lock()
		flying++
		most = max(most, flying)
		mu.Unlock()
		for range 100 {
			runtime.Gosched() // let other writes proceed
		}
		mu.Lock()
		flying--
		mu.Unlock()
	}}
	g := NewGate(ObjectReader{})
	mustPause(t, g)
	var writers, steppers sync.WaitGroup
	for i := range n {
		writers.Go(func() {
			if err := sendRequest(t.Context(), gateTransport{api, g}, "PUT", fmt.Sprintf("%s/%d", pods, i), ""); err != nil {
				t.Error(err)
			}
		})
	}
	seen := make(chan *control.SteppedWrite, n)
	for range 2 {
		mustPause(t, g) // each of two users pauses
		steppers.Go(func() {
			for range n / 2 {
				s, err := g.step(t.Context(), t.Context())
				if err != nil {
					t.Error(err)
				}
				seen <- s
			}
		})
	}
	steppers.Wait()
	writers.Wait()
	close(seen)
	names := map[string]bool{}
	for s := range seen {
		names[s.Object.Name] = true
	}
	if len(names) != n || most != 1 {
		t.Errorf("%d of %d writes were stepped, at most %d at once", len(names), n, most)
	}
}

type funcTransport struct{ do func() }

func (s *funcTransport) RoundTrip(*http.Request) (*http.Response, error) {
	s.do()
	return newResponse(http.StatusOK, "application/json", "{}"), nil
}

func TestWhatStoresNothingIsNotHeld(t *testing.T) {
	g, api := NewGate(ObjectReader{}), &fakeTransport{}
	mustPause(t, g)
	for _, path := range []string{"/apis/authorization.k8s.io/v1/subjectaccessreviews", "/apis/authentication.k8s.io/v1/tokenreviews",
		"/api/v1/namespaces/default/serviceaccounts/web/token"} {
		if err := sendRequest(t.Context(), gateTransport{api, g}, "POST", path, "{}"); err != nil {
			t.Error(err)
		}
	}
	if got := api.sentPaths(); len(got) != 3 {
		t.Errorf("sent: %v", got)
	}
}

func TestHeldSecretsAreMasked(t *testing.T) {
	const secrets = "http://x/api/v1/namespaces/default/secrets/a"
	for media, test := range map[string]struct{ body, want string }{
		"application/json":                  {`{"data":{"k":"aHVzaA=="},"stringData":{"s":"hush!"}}`, `{"data":{"k":"*** (4 bytes)"},"stringData":{"s":"*** (5 bytes)"}}`},
		"application/merge-patch+json":      {`{"data":{"k":"aHVzaA==","gone":null}}`, `{"data":{"gone":null,"k":"*** (4 bytes)"}}`},
		"application/apply-patch+yaml":      {"data: {k: aHVzaA==}", `{"data":{"k":"*** (4 bytes)"}}`},
		"application/json-patch+json":       {`[{"op":"add","path":"/data/k","value":"aHVzaA=="}]`, ``},
		"application/json; charset=utf-8":   {`{"data":"aHVzaA=="}`, `{}`},
		"application/vnd.kubernetes.other":  {`aHVzaA==`, ``},
		"application/vnd.kubernetes.cbor":   {"\xd9\xd9\xf7\xa1", ``},
		"application/strategic-merge-patch": {`{"stringData":{"s":"hush!"}}`, `{"stringData":{"s":"*** (5 bytes)"}}`},
	} {
		req, err := http.NewRequest(http.MethodPut, secrets, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", media)
		if got := string(newHeldWrite(req, NewGate(ObjectReader{})).describe().Body); got != test.want {
			t.Errorf("%s: got %s, want %s", media, got, test.want)
		}
	}
}

// If a request is canceled while its object is read, the write is not sent, the
// caller receives the context's error, and the step releases the next write.
func TestStepSkipsWriteCanceledWhileReading(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	api := &fakeAPIServer{objects: map[string]string{}, do: storeAndReply(strings.Replace(podJSON("1", "8", ""), `"a"`, `"b"`, 1))}
	g := NewGate(ObjectReader{})
	g.objects = ObjectReader{roundTripFunc(func(req *http.Request) (*http.Response, error) {
		if strings.HasSuffix(req.URL.Path, "/a") {
			cancel()
		}
		return api.RoundTrip(req)
	})}
	mustPause(t, g)
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- sendRequest(ctx, gateTransport{api, g}, "PUT", pods+"/a", "{}") }()
	awaitHeld(t, g, 1)
	go func() { second <- sendRequest(t.Context(), gateTransport{api, g}, "PUT", pods+"/b", "{}") }()
	s, err := g.step(t.Context(), t.Context())
	if err != nil || s.Object.Name != "b" || s.Status != http.StatusOK {
		t.Errorf("%+v, %v", s, err)
	}
	g.Resume()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the canceled request: %v", err)
	}
	if err := <-second; err != nil {
		t.Error(err)
	}
	if _, ok := api.objects[pods+"/a"]; ok || api.objects[pods+"/b"] == "" {
		t.Errorf("sent: %v", api.objects)
	}
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
