package recording

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// encodeWatchEvent returns an event as the API server writes it to a watch.
func encodeWatchEvent(t *testing.T, typ string, object []byte, media string) []byte {
	t.Helper()
	event := &metav1.WatchEvent{Type: typ, Object: runtime.RawExtension{Raw: object}}
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), media)
	if !ok {
		t.Fatal(media)
	}
	data, err := runtime.Encode(info.StreamSerializer.Serializer, event)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestWatchEventsAreParsed(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "web-1", UID: "u", ResourceVersion: "9",
		Labels:            map[string]string{"a": strings.Repeat("{[\"", 1000), "name": "not this"},
		Annotations:       map[string]string{"metadata": `\" "name":"nor this"`},
		DeletionTimestamp: new(metav1.Now()),
		OwnerReferences:   []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: "o1"}, {Kind: "Site", Name: "shop", UID: "o2"}},
	}, Spec: corev1.PodSpec{NodeName: "n"}}
	want := ResponseSummary{Kind: "Pod"}
	want.Metadata.Name, want.Metadata.Namespace, want.Metadata.UID, want.Metadata.ResourceVersion = "web-1", "ns", "u", "9"
	want.Metadata.OwnerReferences = []OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: "o1"}, {Kind: "Site", Name: "shop", UID: "o2"}}
	want.Metadata.Deleting = true
	end := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "12", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		parse := WatchEventParser(media + ";stream=watch")
		encoded := encodeObject(t, pod, media)
		e := parse(encodeWatchEvent(t, "MODIFIED", encoded, media))
		if !bytes.HasPrefix(e.Encoded, bytes.TrimSpace(encoded)) {
			t.Errorf("%s: the object is encoded as %q", media, e.Encoded)
		}
		e.Encoded = nil
		if diff := cmp.Diff(WatchEvent{Type: "MODIFIED", Object: want}, e); diff != "" {
			t.Errorf("%s (-want +got):\n%s", media, diff)
		}
		bookmark := parse(encodeWatchEvent(t, "BOOKMARK", encodeObject(t, end, media), media))
		if bookmark.Type != "BOOKMARK" || !bookmark.Object.InitialEventsEnd || bookmark.Object.Metadata.ResourceVersion != "12" {
			t.Errorf("%s: %+v", media, bookmark)
		}
	}
	if WatchEventParser("application/json;as=Table;g=meta.k8s.io;v=v1;stream=watch") != nil || WatchEventParser("text/html") != nil {
		t.Error("a parser for a table or another format")
	}
}

// FuzzWatchEvents looks for data that makes a parser panic, and compares it with
// encoding/json where that can read the data.
func FuzzWatchEvents(f *testing.F) {
	for _, seed := range []string{
		`{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a\"b","ownerReferences":[{"uid":"x"}]}}}`,
		`{"type":"ADDED","object":{"metadata":{"name":`, `{"a":1,"b":[{},"]"],"type":"x"}`, "{", `{"`, "\x0a\x05ADDED\x12\x04\x0a\x02k8",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		parseProtoEvent(data)
		got := parseJSONEvent(data)
		var want struct {
			Type   *string `json:"type"`
			Object *struct {
				Kind     string `json:"kind"`
				Metadata struct {
					Name string `json:"name"`
				} `json:"metadata"`
			} `json:"object"`
		}
		// Only what the API server writes: compact JSON, the type first, each name once.
		if json.Unmarshal(data, &want) != nil || want.Type == nil || want.Object == nil {
			return
		}
		canonical, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if string(canonical) == string(data) && (got.Type != *want.Type || got.Object.Kind != want.Object.Kind || got.Object.Metadata.Name != want.Object.Metadata.Name) {
			t.Errorf("%s: got %+v", data, got)
		}
	})
}
