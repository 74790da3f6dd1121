package recording

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// The names in an object are found in JSON and in protobuf, also if it is truncated.
func TestMentions(t *testing.T) {
	long := strings.Repeat("n", 60) // as a length, a character of names
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "ns", Annotations: map[string]string{"text": "say \"no\" to ns/shop", "site": "ns/shop"}},
		Spec:       corev1.PodSpec{ServiceAccountName: "robot", NodeName: long},
	}
	asJSON, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	var asProto bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).Encode(pod, &asProto); err != nil {
		t.Fatal(err)
	}
	for format, data := range map[string][]byte{"JSON": asJSON, "protobuf": asProto.Bytes()} {
		m := MentionsIn(data, 100)
		for _, name := range []string{"web-1", "ns/shop", "robot", long} {
			if !mentions(m, name) {
				t.Errorf("%s: %s is not found", format, name)
			}
		}
		for _, name := range []string{"web", "no", "shop", "robo", "", strings.Repeat("n", 200)} {
			if mentions(m, name) {
				t.Errorf("%s: %q is found", format, name)
			}
		}
		for n := range data {
			if found := MentionsIn(data[:n], 5); len(found.sorted) > 5 {
				t.Errorf("%s: %d names", format, len(found.sorted))
			}
		}
	}
}

// A field is not mentioned, unless it has a string, as a label has, nor is the text of a field "key". A short text is a name in a
// field for names only, an element of a list in one of names or if it is a key.
func TestMentionsOfFields(t *testing.T) {
	m := MentionsIn([]byte(`{"metadata":{"name":"bg","labels":{"web-1": "yes-it-is"}},"status":{"canary":{},"ready" : true,"list":["one-1", "ns/two"],"phase":"ok","key":"token","keyOf":{"key":"team/token"},"serviceNames":["three", "four"],"serviceName":"b"}}`), 100)
	for _, name := range []string{"bg", "web-1", "yes-it-is", "ns/two", "three", "four", "b"} {
		if !mentions(m, name) {
			t.Errorf("%s is not found", name)
		}
	}
	for _, name := range []string{"canary", "ready", "list", "one-1", "ok", "token", "team/token"} {
		if mentions(m, name) {
			t.Errorf("%s is found", name)
		}
	}
}

// What is named together with its namespace is mentioned by its key, too.
func TestMentionsWithNamespace(t *testing.T) {
	labels := map[string]string{
		"app": "web", "kustomize.toolkit.fluxcd.io/name": "fleet", "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
		"x.example.com/site-name": "shop", "y.example.com/site-namespace": "sites", "zone": "a-1",
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "apps", Labels: labels}}
	asJSON, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	var asProto bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).Encode(pod, &asProto); err != nil {
		t.Fatal(err)
	}
	for format, data := range map[string][]byte{"JSON": asJSON, "protobuf": asProto.Bytes()} {
		m := MentionsIn(data, 100)
		for name, want := range map[string]bool{"flux-system/fleet": true, "fleet": true, "sites/shop": false, "flux-system/web": false, "apps/fleet": false} {
			if mentions(m, name) != want {
				t.Errorf("%s: %s is found: %v", format, name, !want)
			}
		}
	}
	m := MentionsIn([]byte(`{"spec":{"sourceRef":{"kind":"Source","name":"b","namespace":"ns-1"},"claimRef":{"namespace":"ns-2","name":"data"},`+
		`"target":{"releaseName":"web","releaseNamespace":"ns-3"},"list":[{"name":"one"},{"namespace":"ns-4"}],"name":"two","x":{},"namespace":"ns-5"},`+
		`"dependsOn":[{"name":"aaa","namespace":"ns-6"},{"name":"bbb","namespace":"ns-7"}]}`), 100)
	for name, want := range map[string]bool{
		"ns-1/b": true, "ns-2/data": true, "ns-3/web": true, "ns-6/aaa": true, "ns-7/bbb": true,
		"ns-2/b": false, "ns-3/data": false, "ns-4/one": false, "ns-4/two": false, "ns-5/two": false, "ns-6/bbb": false,
	} {
		if mentions(m, name) != want {
			t.Errorf("%s is found: %v", name, !want)
		}
	}
}

// The set of managed fields, which names nothing, is not searched.
func TestNoMentionsInManagedFields(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web-1", ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "a-manager", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("\x05field")},
			{Manager: "b-manager", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(strings.Repeat("\x05other", 100))},
			{Manager: "c-manager", FieldsType: "FieldsV1"},
		}},
		Spec: corev1.PodSpec{ServiceAccountName: "robot"},
	}
	var data bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).Encode(pod, &data); err != nil {
		t.Fatal(err)
	}
	m := MentionsIn(data.Bytes(), 100)
	for name, want := range map[string]bool{"web-1": true, "a-manager": true, "b-manager": true, "c-manager": true, "robot": true, "field": false, "other": false} {
		if mentions(m, name) != want {
			t.Errorf("%s is found: %v", name, !want)
		}
	}
	for n := range data.Len() { // a truncated object may end in a set
		MentionsIn(data.Bytes()[:n], 100)
	}
}

func BenchmarkMentions(b *testing.B) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "ns"}, Spec: corev1.PodSpec{ServiceAccountName: "robot"}}
	for range 5 {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "web", Image: "registry.example.com/web:1", TerminationMessagePath: "/dev/termination-log"})
	}
	asJSON, err := json.Marshal(pod)
	if err != nil {
		b.Fatal(err)
	}
	var asProto bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).Encode(pod, &asProto); err != nil {
		b.Fatal(err)
	}
	for format, data := range map[string][]byte{"JSON": asJSON, "protobuf": asProto.Bytes()} {
		b.Run(format, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				MentionsIn(data, 128)
			}
		})
	}
}

func mentions(m Mentions, name string) bool {
	mention, ok := MentionOf(name)
	return ok && m.Has(mention)
}
