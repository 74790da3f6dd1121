package recording

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/ctrlplane/ctrlplane/observe"
)

// peekedBody is a response in memory, as of the loopback client.
type peekedBody struct {
	io.ReadCloser
	data []byte
}

func (b peekedBody) Peek(limit int, read func([]byte)) { read(b.data[:min(limit, len(b.data))]) }

// fixedAnswer answers each request with the same object in protobuf.
type fixedAnswer struct {
	header http.Header
	data   []byte
}

func (a fixedAnswer) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: a.header, Body: peekedBody{http.NoBody, a.data}}, nil
}

func benchPod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "web-5fc9f4bf66-jlwws", Namespace: "default", UID: "7c25d147-f0f1-4f96-bdf0-453cbc30306e", ResourceVersion: "4711", Labels: map[string]string{"app": "web"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(&metav1.ObjectMeta{Name: "web-5fc9f4bf66", UID: "0b7c1c2e-5a0e-4d0c-9a0e-3f6f1f0d2a11"}, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
	}}
}

// BenchmarkCalls measures what the recording of a controller's call allocates, beside the
// request itself.
func BenchmarkCalls(b *testing.B) {
	pod := benchPod()
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name + ".188", Namespace: "default"}, Type: "Normal", Reason: "Scheduled", Message: "Successfully assigned default/" + pod.Name + " to node-1",
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: pod.Name, UID: pod.UID, APIVersion: "v1", ResourceVersion: "4700"},
		Source:         corev1.EventSource{Component: "default-scheduler"}, ReportingController: "default-scheduler",
	}
	for _, c := range []struct {
		name, method, path string
		sent, answer       runtime.Object
	}{
		{"get", "GET", "/api/v1/namespaces/default/pods/" + pod.Name, nil, pod},
		{"create", "POST", "/api/v1/namespaces/default/pods", pod, pod},
		{"status", "PATCH", "/api/v1/namespaces/default/pods/" + pod.Name + "/status", pod, pod},
		{"event", "POST", "/api/v1/namespaces/default/events", event, event},
	} {
		b.Run(c.name, func(b *testing.B) {
			o := observe.New(observe.Options{})
			defer o.Close()
			next := fixedAnswer{http.Header{"Content-Type": {runtime.ContentTypeProtobuf}}, encodeObject(b, c.answer, runtime.ContentTypeProtobuf)}
			transport := callRecorder{next, o.Recorder("c")}
			req, err := http.NewRequest(c.method, "http://x"+c.path, nil)
			if c.sent != nil {
				req, err = http.NewRequest(c.method, "http://x"+c.path, bytes.NewReader(encodeObject(b, c.sent, runtime.ContentTypeProtobuf)))
			}
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				resp, err := transport.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
			}
		})
	}
}

// BenchmarkDelivery measures what the recording of an event allocates whose handler adds no key.
func BenchmarkDelivery(b *testing.B) {
	o := observe.New(observe.Options{})
	defer o.Close()
	h, _ := ObserveEvents(cache.ResourceEventHandlerFuncs{}, corev1.SchemeGroupVersion.WithResource("pods"), false, o.Recorder("c"))
	before, after := benchPod(), benchPod()
	after.ResourceVersion = "4712"
	b.ReportAllocs()
	for b.Loop() {
		h.OnUpdate(before, after)
	}
}
