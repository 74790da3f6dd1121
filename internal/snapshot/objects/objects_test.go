package objects

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

// encodeProtobuf returns an object as the API server stores it.
func encodeProtobuf(t *testing.T, obj runtime.Object) []byte {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		t.Fatal("no protobuf")
	}
	data, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), obj)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func configMap(value, manager string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "c", UID: "uid", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: manager}},
	}, Data: map[string]string{"v": value}}
}

func secret(of corev1.SecretType, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "hush"}}, Type: of, Data: data}
}

func entry(key string, value []byte) snapshot.Entry { return snapshot.Entry{Key: key, Value: value} }

func TestDiff(t *testing.T) {
	widget := func(uid, size string) []byte {
		return []byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"ns","uid":"` + uid + `"},"spec":{"size":` + size + `}}`)
	}
	before := snapshot.State{Entries: []snapshot.Entry{
		entry("/configmaps/ns/c", encodeProtobuf(t, configMap("1", "alice"))),
		entry("/configmaps/ns/same", encodeProtobuf(t, configMap("1", "alice"))),
		entry("/events/ns/e", encodeProtobuf(t, configMap("1", "alice"))),
		entry("/example.com/widgets/ns/w", widget("1", "1")),
		entry("/leases/ns/l", []byte("1")),
		entry("/pods/ns/hidden", []byte("k8s:enc:x")),
		entry("/secrets/ns/s", encodeProtobuf(t, secret("Opaque", map[string][]byte{"same": []byte("a"), "other": []byte("b"), "gone": []byte("c")}))),
	}}
	after := snapshot.State{Entries: []snapshot.Entry{
		entry("/configmaps/ns/c", encodeProtobuf(t, configMap("2", "bob"))),
		entry("/configmaps/ns/same", encodeProtobuf(t, configMap("1", "bob"))),
		entry("/example.com/widgets/ns/w", widget("2", "2")),
		entry("/leases/ns/l", []byte("2")),
		entry("/pods/ns/hidden", []byte("k8s:enc:y")),
		entry("/secrets/ns/s", encodeProtobuf(t, secret("Opaque", map[string][]byte{"same": []byte("a"), "other": []byte("c")}))),
	}}
	var got []string
	list := Diff(before, after, true)
	for _, d := range list {
		got = append(got, d.String()+" "+d.Change)
	}
	want := []string{
		"ConfigMap ns/c changed", "ConfigMap ns/c removed", // the event is one for this test
		"Widget.example.com ns/w replaced", "Unreadable pods/ns/hidden changed", "Secret ns/s changed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if n := len(Diff(before, after, false)); n != len(want)-1 {
		t.Errorf("without events: %d", n)
	}

	text, err := list[0].UnifiedDiff("base", "now")
	wantText := `--- ConfigMap ns/c (base)
+++ ConfigMap ns/c (now)
@@ -1,6 +1,6 @@
 apiVersion: v1
 data:
-  v: "1"
+  v: "2"
 kind: ConfigMap
 metadata:
   name: c
`
	if err != nil || text != wantText {
		t.Errorf("%v, got:\n%s\nwant:\n%s", err, text, wantText)
	}
	text, err = list[4].UnifiedDiff("base", "now")
	if err != nil || strings.Contains(text, "Yg==") || strings.Contains(text, "hush") ||
		!strings.Contains(text, "-  other: '*** (before)'\n+  other: '*** (after)'\n   same: '***'") || !strings.Contains(text, "-  gone: '***'") {
		t.Errorf("%v, got:\n%s", err, text)
	}
	text, err = list[1].UnifiedDiff("base", "now")
	if err != nil || !strings.Contains(text, "+++ /dev/null\n") {
		t.Errorf("%v, got:\n%s", err, text)
	}
}

// A float64 has 53 bits for the digits of a number.
func TestDiffOfLargeIntegers(t *testing.T) {
	widget := func(size string) snapshot.State {
		return snapshot.State{Entries: []snapshot.Entry{entry("/example.com/widgets/w", []byte(
			`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":`+size+`,"share":0.5}}`))}}
	}
	list := Diff(widget("9007199254740992"), widget("9007199254740993"), false)
	if len(list) != 1 {
		t.Fatalf("got %d differences, want 1", len(list))
	}
	text, err := list[0].UnifiedDiff("base", "now")
	if err != nil || !strings.Contains(text, "-  size: 9007199254740992\n+  size: 9007199254740993") || !strings.Contains(text, "share: 0.5") {
		t.Errorf("%v, got:\n%s", err, text)
	}
}

// A kubelet confirms the conditions of its Node again and again, which changes nothing.
func TestDiffWithoutHeartbeats(t *testing.T) {
	node := func(beat int64, ready corev1.ConditionStatus) snapshot.State {
		return snapshot.State{Entries: []snapshot.Entry{entry("/minions/n", encodeProtobuf(t, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "n"},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: ready, LastHeartbeatTime: metav1.Unix(beat, 0), LastTransitionTime: metav1.Unix(1, 0),
			}}},
		}))}}
	}
	if list := Diff(node(1, corev1.ConditionTrue), node(2, corev1.ConditionTrue), false); len(list) != 0 {
		t.Errorf("after a heartbeat: %v", list)
	}
	list := Diff(node(1, corev1.ConditionTrue), node(2, corev1.ConditionFalse), false)
	if len(list) != 1 {
		t.Fatalf("after a change: %v", list)
	}
	text, err := list[0].UnifiedDiff("base", "now")
	if err != nil || !strings.Contains(text, "-    status: \"True\"\n+    status: \"False\"") || strings.Contains(text, "lastHeartbeatTime") {
		t.Errorf("%v, got:\n%s", err, text)
	}
}

func TestWithoutServiceAccountTokens(t *testing.T) {
	token := secret(corev1.SecretTypeServiceAccountToken, map[string][]byte{"token": []byte("t"), "ca.crt": []byte("c"), "namespace": []byte("n"), "extra": []byte("e")})
	opaque := encodeProtobuf(t, secret("Opaque", map[string][]byte{"token": []byte("t")}))
	s := snapshot.State{Entries: []snapshot.Entry{
		entry("/secrets/ns/a", encodeProtobuf(t, token)), entry("/secrets/ns/b", opaque), entry("/secrets/ns/c", []byte("k8s:enc:x")),
	}}
	got := WithoutServiceAccountTokens(s)
	if string(s.Entries[0].Value) != string(encodeProtobuf(t, token)) {
		t.Error("the state itself was changed")
	}
	delete(token.Data, "token")
	delete(token.Data, "ca.crt")
	for i, want := range [][]byte{encodeProtobuf(t, token), opaque, []byte("k8s:enc:x")} {
		if string(got.Entries[i].Value) != string(want) {
			t.Errorf("entry %d: %q, want %q", i, got.Entries[i].Value, want)
		}
	}
}

// With the feature gate CBORServingAndStorage custom resources are stored as CBOR.
func TestDecodeCBOR(t *testing.T) {
	widget := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w", "uid": "uid"},
		"spec": map[string]any{"size": int64(1) << 60, "share": 0.5, "on": true, "list": []any{"a"}},
	}
	var value bytes.Buffer
	if err := cbor.NewSerializer(unstructuredscheme.NewUnstructuredCreator(), unstructuredscheme.NewUnstructuredObjectTyper()).Encode(&unstructured.Unstructured{Object: widget}, &value); err != nil {
		t.Fatal(err)
	}
	if kind, uid, ok := snapshot.Identify(value.Bytes()); kind != "Widget" || uid != "uid" || !ok {
		t.Errorf("UID %q, %v", uid, ok)
	}
	got := decodeObject(value.Bytes())
	if got == nil {
		t.Fatal("not decoded")
	}
	if diff := cmp.Diff(widget, got.Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if damaged := value.Bytes()[:value.Len()-3]; decodeObject(damaged) != nil {
		t.Error("a damaged value was decoded")
	}
}
