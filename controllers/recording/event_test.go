package recording

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/observe"
)

// echo answers each request with its own body.
type echo struct{}

func (echo) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": req.Header["Content-Type"]}, Body: io.NopCloser(bytes.NewReader(body))}, nil
}

// The content of an Event is recorded in both formats and of both kinds, and the server
// still receives it.
func TestEventsAreRecordedWithTheirContent(t *testing.T) {
	pod := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "web-1", UID: "u"}
	want := &observe.KubernetesEvent{
		Type: "Warning", Reason: "FailedScheduling", Note: "0/1 nodes are available",
		Regarding: observe.Object{Resource: "pods", Kind: "Pod", Namespace: "shop", Name: "web-1", UID: "u"},
	}
	for _, format := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		o := observe.New(observe.Options{})
		defer o.Close()
		cfg := ObserveCalls(&rest.Config{Host: "http://x", Transport: echo{}, ContentConfig: rest.ContentConfig{ContentType: format}}, o.Recorder("web-controller"))
		core, err := corev1client.NewForConfig(cfg)
		if err != nil {
			t.Fatal(err)
		}
		events, err := eventsv1client.NewForConfig(cfg)
		if err != nil {
			t.Fatal(err)
		}
		name := metav1.ObjectMeta{Name: "web-1.1", Namespace: "shop"}
		if _, err := core.Events("shop").Create(t.Context(), &corev1.Event{ObjectMeta: name, Type: want.Type, Reason: want.Reason, Message: want.Note, InvolvedObject: pod}, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := events.Events("shop").Create(t.Context(), &eventsv1.Event{ObjectMeta: name, Type: want.Type, Reason: want.Reason, Note: want.Note, Regarding: pod}, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
		page, err := o.Records(t.Context(), observe.Query{Notable: true, Object: &want.Regarding})
		if err != nil || len(page.Records) != 2 {
			t.Fatalf("%s: %d notable records about the Pod, %v", format, len(page.Records), err)
		}
		for _, r := range page.Records {
			if diff := cmp.Diff(want, r.Event.(*observe.Called).Event); diff != "" {
				t.Errorf("%s (-want +got):\n%s", format, diff)
			}
		}
	}
}

func TestParseEventRefusesOthers(t *testing.T) {
	for _, data := range []string{"", "{", "k8s\x00", `{"kind":"Pod","apiVersion":"v1"}`, `{"kind":"Event","apiVersion":"v9"}`} {
		if e := ParseEvent([]byte(data)); e != nil {
			t.Errorf("%q: %+v", data, e)
		}
	}
}
