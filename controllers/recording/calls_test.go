package recording

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/observe"
)

// encodeObject returns an API server's response in JSON or in protobuf.
func encodeObject(t testing.TB, obj runtime.Object, media string) []byte {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), media)
	if !ok {
		t.Fatal(media)
	}
	gv := schema.GroupVersion{Version: "v1"}
	switch obj.(type) {
	case *appsv1.ReplicaSet:
		gv.Group = "apps"
	case *coordinationv1.Lease:
		gv.Group = coordinationv1.GroupName
	}
	data, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, gv), obj)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// recordCall sends a request through a callRecorder to a server that responds with
// body. It returns the record and the body that the client has received.
func recordCall(t *testing.T, method, path string, status int, media string, body []byte) (*observe.Called, []byte) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		if _, err := w.Write(body); err != nil {
			t.Error(err)
		}
	}))
	defer srv.Close()
	o := observe.New(observe.Options{})
	defer o.Close()
	cfg := ObserveCalls(&rest.Config{Host: srv.URL}, o.Recorder("c"))
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return onlyCall(t, o), got
}

func onlyCall(t *testing.T, o *observe.Observer) *observe.Called {
	t.Helper()
	page, err := o.Records(t.Context(), observe.Query{Reads: true})
	if err != nil || len(page.Records) != 1 {
		t.Fatalf("%v, %v", page.Records, err)
	}
	return page.Records[0].Event.(*observe.Called)
}

func TestCallsAreRecorded(t *testing.T) {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "default", UID: "u", ResourceVersion: "9",
		Annotations: map[string]string{"long": strings.Repeat("x", 100_000)}}}
	conflict := apierrors.NewConflict(schema.GroupResource{Group: "apps", Resource: "replicasets"}, "web-1", errors.New("the object has been modified")).Status()
	managed := apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Message: "conflict with \"kubectl\"", Field: ".spec.replicas"}},
		"Apply failed with 1 conflict: conflict with \"kubectl\": .spec.replicas").Status()
	exists := apierrors.NewAlreadyExists(schema.GroupResource{Group: "apps", Resource: "replicasets"}, "web-1").Status()
	const collection = "/apis/apps/v1/namespaces/default/replicasets"
	web := observe.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "default", Name: "web-1"}
	withUID := web
	withUID.UID = "u"
	noName := web
	noName.Name = ""
	for _, c := range []struct {
		method, path string
		status       int
		answer       runtime.Object
		want         observe.Called
	}{
		{"POST", collection, 201, rs, observe.Called{Verb: "create", Object: withUID, ResourceVersion: "9"}},
		{"PUT", collection + "/web-1", 200, rs, observe.Called{Verb: "update", Object: withUID, ResourceVersion: "9"}},
		{"PATCH", collection + "/web-1/status", 200, rs, observe.Called{Verb: "patch", Subresource: "status", Object: web, ResourceVersion: "9"}},
		{"PUT", collection + "/web-1", 409, &conflict, observe.Called{Verb: "update", Object: web, Conflict: true, Error: conflict.Message}},
		{"PATCH", collection + "/web-1", 409, &managed, observe.Called{Verb: "patch", Object: web, Error: managed.Message}},
		{"POST", collection, 409, &exists, observe.Called{Verb: "create", Object: web, Error: exists.Message}},
		{"DELETE", collection + "/web-1", 200, &metav1.Status{Status: "Success"}, observe.Called{Verb: "delete", Object: web}},
		{"DELETE", collection + "/web-1", 200, &metav1.Status{Status: "Success", Details: &metav1.StatusDetails{Name: "web-1", UID: "u"}}, observe.Called{Verb: "delete", Object: withUID}},
		{"DELETE", collection, 200, &metav1.Status{Status: "Success"}, observe.Called{Verb: "deletecollection", Object: noName}},
		{"GET", collection + "/web-1", 200, rs, observe.Called{Verb: "get", Object: web}},
		{"GET", collection + "?watch=true", 200, rs, observe.Called{Verb: "watch", Object: noName}},
		{"PATCH", "/apis/bus.example.com/v1/namespaces/default/namespaces/main", 200, rs, observe.Called{
			Verb: "patch", Version: "v1", Object: observe.Object{Group: "bus.example.com", Resource: "namespaces", Namespace: "default", Name: "web-1", UID: "u"}, ResourceVersion: "9"}},
		{"GET", "/healthz", 200, &metav1.Status{}, observe.Called{Verb: "get", Object: observe.Object{Resource: "/healthz"}}},
	} {
		for _, media := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
			body := encodeObject(t, c.answer, media)
			got, received := recordCall(t, c.method, c.path, c.status, media, body)
			if string(received) != string(body) {
				t.Errorf("%s %s in %s: the client received %d of %d bytes", c.method, c.path, media, len(received), len(body))
			}
			if got.Took <= 0 {
				t.Errorf("%s %s: took %v", c.method, c.path, got.Took)
			}
			if time.Since(got.Began) < got.Took {
				t.Errorf("%s %s: began at %v, took %v", c.method, c.path, got.Began, got.Took)
			}
			c.want.Controller, c.want.Status, c.want.Began, c.want.Took = "c", c.status, got.Began, got.Took
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("%s %s in %s (-want +got):\n%s", c.method, c.path, media, diff)
			}
		}
	}
}

// A response that cannot be parsed reaches the client unchanged.
func TestUnparsableResponsesPassUnchanged(t *testing.T) {
	pod := encodeObject(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, "application/vnd.kubernetes.protobuf")
	for name, body := range map[string][]byte{
		"empty": nil, "not JSON": []byte("<html>"), "half": pod[:len(pod)/2], "wrong magic": append([]byte("x"), pod...),
		"noise": []byte("k8s\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
	} {
		for _, media := range []string{"application/json", "application/vnd.kubernetes.protobuf", "text/plain"} {
			if _, got := recordCall(t, "POST", "/api/v1/namespaces/default/pods", 500, media, body); string(got) != string(body) {
				t.Errorf("%s as %s: the client received %q", name, media, got)
			}
		}
	}
}

// The name in the path is known whatever the format of the response is.
func TestResponseOfUnknownFormat(t *testing.T) {
	got, _ := recordCall(t, "PATCH", "/api/v1/namespaces/default/pods/web", 200, "application/yaml", []byte("kind: Pod\nmetadata: {name: web}\n"))
	if got.Object.String() != "Pod default/web" {
		t.Errorf("%+v", got.Object)
	}
}

func TestCallWithoutResponse(t *testing.T) {
	o := observe.New(observe.Options{})
	defer o.Close()
	gone := errors.New("gone")
	c := callRecorder{failingTransport{gone}, o.Recorder("c")}
	req, err := http.NewRequestWithContext(t.Context(), "PUT", "http://x/api/v1/nodes/n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.RoundTrip(req); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	if got := onlyCall(t, o); got.Status != 0 || got.Error != "gone" || !got.Failed() || got.Object.Kind != "Node" {
		t.Errorf("%+v", got)
	}
}

// That a write was canceled does not say whether it has taken effect.
func TestCanceledReadIsNoFailure(t *testing.T) {
	for method, failed := range map[string]bool{"GET": false, "PUT": true} {
		o := observe.New(observe.Options{})
		defer o.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		req, err := http.NewRequestWithContext(ctx, method, "http://x/api/v1/nodes/n", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (callRecorder{failingTransport{ctx.Err()}, o.Recorder("c")}).RoundTrip(req); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", method, err)
		}
		if got := onlyCall(t, o); got.Status != 0 || got.Failed() != failed || got.Error == "" {
			t.Errorf("%s: %+v, want failed: %v", method, got, failed)
		}
	}
}

type failingTransport struct{ err error }

func (f failingTransport) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// memoryBody is a body in memory.
type memoryBody struct {
	io.ReadCloser
	content []byte
}

func (b memoryBody) Peek(limit int, read func([]byte)) { read(b.content[:min(limit, len(b.content))]) }

// A body in memory is neither read nor replaced.
func TestBodyInMemoryIsNotCopied(t *testing.T) {
	body := memoryBody{content: encodeObject(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}}, runtime.ContentTypeProtobuf)}
	resp := &http.Response{StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {runtime.ContentTypeProtobuf}}, Body: body}
	if got := PeekResponse(resp); got.Metadata.Name != "web-1" {
		t.Errorf("got %+v", got)
	}
	if _, is := resp.Body.(memoryBody); !is {
		t.Errorf("the body is a %T", resp.Body)
	}
}

// A user has asked for the call: it is ctrlplane's, and no component of Kubernetes decided on it.
func TestCallsForUsersAreTheirOwn(t *testing.T) {
	o := observe.New(observe.Options{})
	defer o.Close()
	send := roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
	})
	req := httptest.NewRequestWithContext(observe.ForUser(t.Context()), http.MethodPatch, "/api/v1/nodes/n1", nil)
	resp, err := (callRecorder{send, o.Recorder("kubelet")}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if c := onlyCall(t, o); c.Controller != observe.Own || c.Client == nil || c.Sync != 0 {
		t.Errorf("recorded as %+v", c)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A delete of a collection says whether it has a selector.
func TestSelectorsOfCollections(t *testing.T) {
	const pods = "/api/v1/namespaces/default/pods"
	for _, test := range []struct {
		method, path string
		want         bool
	}{
		{http.MethodDelete, pods + "?labelSelector=app%3Da", true},
		{http.MethodDelete, pods + "?fieldSelector=spec.nodeName%3Dnode-1", true},
		{http.MethodDelete, pods, false},
		{http.MethodDelete, pods + "?labelSelector=&gracePeriodSeconds=0", false},
		{http.MethodDelete, pods + "/web?labelSelector=app%3Da", false},
		{http.MethodGet, pods + "?labelSelector=app%3Da", false},
	} {
		req := httptest.NewRequestWithContext(t.Context(), test.method, test.path, nil)
		if c := DescribeRequest(req); c.Selected != test.want {
			t.Errorf("%s %s: %v, want %v", test.method, test.path, c.Selected, test.want)
		}
	}
}
