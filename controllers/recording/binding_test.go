package recording

import (
	"bytes"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestBindingNamesItsNode(t *testing.T) {
	binding := &corev1.Binding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Binding"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "node-2"},
	}
	for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
		if !ok {
			t.Fatal(mediaType)
		}
		body, err := runtime.Encode(info.Serializer, binding)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://x/api/v1/namespaces/default/pods/web/binding", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if c := DescribeRequest(req); !IsBinding(c) || describeSentBinding(req) != "node-2" {
			t.Errorf("%s: %+v is bound to %q", mediaType, c, describeSentBinding(req))
		}
		for n := range body { // truncated
			if node := ParseBinding(body[:n]); node != "" && node != "node-2"[:len(node)] {
				t.Errorf("%s: %d bytes name %q", mediaType, n, node)
			}
		}
	}
	if IsBinding(&observe.Called{Verb: "create", Object: observe.Object{Resource: "pods"}}) {
		t.Error("a new Pod is taken for a binding")
	}
}

// A Pod that is created with a node names it; most name none.
func TestNodeNameOfANewPod(t *testing.T) {
	for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
		if !ok {
			t.Fatal(mediaType)
		}
		for _, node := range []string{"node-2", ""} {
			body, err := runtime.Encode(info.Serializer, &corev1.Pod{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "web"},
				Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := ParseNodeName(body); got != node {
				t.Errorf("%s: got %q, want %q", mediaType, got, node)
			}
			for n := range body { // truncated
				if got := ParseNodeName(body[:n]); got != "" && got != node[:len(got)] {
					t.Errorf("%s: %d bytes name %q", mediaType, n, got)
				}
			}
		}
	}
	if !IsNewPod(&observe.Called{Verb: "create", Object: observe.Object{Resource: "pods"}}) || IsNewPod(&observe.Called{Verb: "create", Subresource: "binding", Object: observe.Object{Resource: "pods"}}) {
		t.Error("a binding counts as a new Pod, or a new Pod does not")
	}
}
