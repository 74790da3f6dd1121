package snapshot

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// objectValue returns an object as JSON.
func objectValue(uid, text string) []byte {
	return fmt.Appendf(nil, `{"metadata":{"uid":%q},"text":%q}`, uid, text)
}

func stateOf(entries ...Entry) State {
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
	return State{Entries: entries}
}

func TestPlan(t *testing.T) {
	now := stateOf(
		Entry{Key: "/pods/a/same", Value: objectValue("1", "x"), Revision: 1},
		Entry{Key: "/pods/a/changed", Value: objectValue("2", "new"), Revision: 2},
		Entry{Key: "/pods/a/another", Value: objectValue("30", "x"), Revision: 3},
		Entry{Key: "/pods/b/gone", Value: objectValue("4", "x"), Revision: 4},
		Entry{Key: "/namespaces/a", Value: objectValue("5", "x"), Revision: 5},
		Entry{Key: "/namespaces/b", Value: objectValue("6", "x"), Revision: 6},
		Entry{Key: "/leases/a/alive", Value: objectValue("7", "x"), Revision: 7},
		Entry{Key: "/leases/b/orphan", Value: objectValue("8", "x"), Revision: 8},
		Entry{Key: "/masterleases/10.0.0.1", Value: []byte("x"), Revision: 9},
		Entry{Key: "/pods/a/secret", Value: []byte("k8s:enc:aes:1"), Revision: 10},
	)
	want := stateOf(
		Entry{Key: "/pods/a/same", Value: objectValue("1", "x")},
		Entry{Key: "/pods/a/changed", Value: objectValue("2", "old")},
		Entry{Key: "/pods/a/another", Value: objectValue("3", "x")},
		Entry{Key: "/namespaces/a", Value: objectValue("5", "x")},
		Entry{Key: "/namespaces/c", Value: objectValue("9", "x")},
		Entry{Key: "/pods/c/back", Value: objectValue("10", "x"), TTL: 1},
		Entry{Key: "/leases/c/dead", Value: objectValue("11", "x")},
		Entry{Key: "/pods/a/secret", Value: []byte("k8s:enc:aes:2")},
	)
	got := NewPlan(now, want)
	wanted := Plan{
		Updates: []KeyChange{{Key: "/pods/a/changed", Value: objectValue("2", "old"), ExpectedRevision: 2}},
		Deletes: []KeyChange{
			{Key: "/leases/b/orphan", ExpectedRevision: 8},
			{Key: "/pods/b/gone", ExpectedRevision: 4},
			{Key: "/pods/a/another", ExpectedRevision: 3},
			{Key: "/pods/a/secret", ExpectedRevision: 10},
			{Key: "/namespaces/b", ExpectedRevision: 6, Rank: 6},
		},
		Puts: []KeyChange{
			{Key: "/namespaces/c", Value: objectValue("9", "x"), Rank: -5},
			{Key: "/pods/a/another", Value: objectValue("3", "x")},
			{Key: "/pods/a/secret", Value: []byte("k8s:enc:aes:2")},
			{Key: "/pods/c/back", Value: objectValue("10", "x"), TTL: 1},
		},
		Counts: Counts{Created: 2, Updated: 1, Deleted: 3, Replaced: 2},
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Objects that clients see with another schema get a new revision, but only one.
func TestPlanPutsAgain(t *testing.T) {
	entry := func(key string, revision int64) Entry {
		return Entry{Key: key, Value: objectValue(key, "x"), Revision: revision}
	}
	now := stateOf(entry("/example.com/widgets/a/old", 5), entry("/example.com/widgets/a/new", 6), entry("/pods/a/p", 5))
	want := now
	want.PutAgain = map[string]int64{"example.com/widgets": 5}
	wanted := Plan{Updates: []KeyChange{{Key: "/example.com/widgets/a/old", Value: objectValue("/example.com/widgets/a/old", "x"), ExpectedRevision: 5}}}
	if diff := cmp.Diff(wanted, NewPlan(now, want)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Clients see owners before what they own, so that an operator does not act for what an owner was. Ownership may be a
// cycle.
func TestPlanFollowsOwnership(t *testing.T) {
	owned := func(uid, text string, owners ...string) []byte {
		var refs []metav1.OwnerReference
		for _, owner := range owners {
			refs = append(refs, metav1.OwnerReference{Name: "o", UID: types.UID(owner)})
		}
		value, err := json.Marshal(corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), OwnerReferences: refs, Name: text}})
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	state := func(text string) (s State) {
		for key, value := range map[string][]byte{
			"/apps/sets/a/1":         owned("set", text, "shop"),
			"/example.com/shops/a/1": owned("shop", text),
			"/pods/a/1":              owned("pod", text, "other", "set"),
			"/pods/a/2":              owned("adopted", text, "unchanged"),
			"/rings/a/1":             owned("one", text, "two"),
			"/rings/a/2":             owned("two", text, "one"),
			"/namespaces/a":          owned("a", text),
		} {
			s.Entries = append(s.Entries, Entry{Key: key, Value: value, Revision: 1})
		}
		return stateOf(s.Entries...)
	}
	ranked := func(list []KeyChange) (keys []string) {
		for changes := range (Plan{Puts: list}).Changes() {
			var together []string
			for _, c := range changes {
				together = append(together, c.Key)
			}
			keys = append(keys, strings.Join(together, " "))
		}
		return keys
	}
	first, last := []string{"/namespaces/a"}, []string{"/example.com/shops/a/1", "/apps/sets/a/1 /pods/a/2", "/pods/a/1 /rings/a/2", "/rings/a/1"}
	for name, tc := range map[string]struct{ got, want []string }{
		"updates": {ranked(NewPlan(state("x"), state("y")).Updates), slices.Concat(first, last)},
		"puts":    {ranked(NewPlan(State{}, state("y")).Puts), slices.Concat(first, last)},
		"deletes": {ranked(NewPlan(state("x"), State{}).Deletes), slices.Concat(last, first)},
	} {
		if !slices.Equal(tc.got, tc.want) {
			t.Errorf("%s: %q", name, tc.got)
		}
	}
}

// TestPlanRandom carries out plans between random states.
func TestPlanRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	some := func() State {
		var s State
		for i := range 30 {
			if random.IntN(2) == 0 {
				key := fmt.Sprintf("/%s/ns/%02d", []string{"pods", "widgets.x/w", "namespaces"}[i%3], i)
				s.Entries = append(s.Entries, Entry{Key: key, Value: objectValue(fmt.Sprint(random.IntN(2)), fmt.Sprint(random.IntN(2))), Revision: int64(i + 1)})
			}
		}
		return stateOf(s.Entries...)
	}
	for range 2000 {
		now, want := some(), some()
		plan := NewPlan(now, want)
		there := map[string][]byte{}
		for _, e := range now.Entries {
			there[e.Key] = e.Value
		}
		for _, w := range plan.Updates {
			if e, ok := now.find(w.Key); !ok || e.Revision != w.ExpectedRevision || !sameObject(e.Value, w.Value) {
				t.Fatalf("updates %+v, there is %+v", w, e)
			}
			there[w.Key] = w.Value
		}
		for _, w := range plan.Deletes {
			if e, ok := now.find(w.Key); !ok || e.Revision != w.ExpectedRevision {
				t.Fatalf("deletes %+v, there is %+v", w, e)
			}
			delete(there, w.Key)
		}
		for _, w := range plan.Puts {
			if old, ok := there[w.Key]; ok || w.ExpectedRevision != 0 {
				t.Fatalf("puts %+v over %s", w, old)
			}
			there[w.Key] = w.Value
		}
		wanted := map[string][]byte{}
		for _, e := range want.Entries {
			wanted[e.Key] = e.Value
		}
		if diff := cmp.Diff(wanted, there); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
		if n := NewPlan(want, want); n.Total() != 0 {
			t.Fatalf("the same is changed: %+v", n)
		}
	}
}

func TestIdentify(t *testing.T) {
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "p", UID: types.UID("the-uid"), OwnerReferences: []metav1.OwnerReference{{Kind: "A", Name: "x", UID: "a"}, {UID: "b"}}}}
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		t.Fatal("no protobuf")
	}
	proto, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), pod)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string][]byte{"protobuf": proto, "JSON": text} {
		if kind, uid, ok := Identify(v); kind != "Pod" || uid != "the-uid" || !ok {
			t.Errorf("%s: %q, %q, %v", name, kind, uid, ok)
		}
		if i, _ := identify(v); !slices.Equal(i.owners, []string{"a", "b"}) {
			t.Errorf("%s: owners %q", name, i.owners)
		}
	}
	for name, v := range map[string][]byte{"encrypted": []byte("k8s:enc:aescbc:v1:key1:xxx"), "cut short": proto[:12], "nothing": nil} {
		if kind, uid, ok := Identify(v); kind != "" || uid != "" || ok {
			t.Errorf("%s: %q, %q, %v", name, kind, uid, ok)
		}
	}
}

// The API server stores what is nested more deeply than the CBOR library decodes by default.
func TestIdentifyDeepCBOR(t *testing.T) {
	var deep any = "x"
	for range 1000 {
		deep = []any{deep}
	}
	value, err := cbor.Marshal(map[string]any{"kind": "Widget", "metadata": map[string]any{"uid": "u"}, "spec": deep})
	if err != nil {
		t.Fatal(err)
	}
	if kind, uid, ok := Identify(slices.Concat(cborMagic, value)); kind != "Widget" || uid != "u" || !ok {
		t.Errorf("got %q, %q, %v", kind, uid, ok)
	}
}

func TestWants(t *testing.T) {
	want := stateOf(
		Entry{Key: "/pods/a/p", Value: objectValue("1", "x")},
		Entry{Key: "/events/a/e", Value: objectValue("2", "x"), TTL: 1},
		Entry{Key: "/secrets/a/s", Value: []byte("k8s:enc:1")},
	)
	for _, test := range []struct {
		change, key string
		from, to    []byte
		wants       bool
	}{
		{"restored", "/pods/a/p", nil, objectValue("1", "x"), true},
		{"written by another", "/pods/a/p", objectValue("1", "x"), objectValue("1", "y"), false},
		{"created by another", "/pods/a/q", nil, objectValue("3", "x"), false},
		{"not in the state", "/pods/a/q", objectValue("3", "x"), nil, true},
		{"deleted to be replaced", "/pods/a/p", objectValue("9", "x"), nil, true},
		{"deleted by another", "/pods/a/p", objectValue("1", "y"), nil, false},
		{"deleted, unknown before", "/pods/a/p", nil, nil, false},
		{"encrypted, deleted by another", "/secrets/a/s", []byte("k8s:enc:1"), nil, false},
		{"encrypted, deleted to be replaced", "/secrets/a/s", []byte("k8s:enc:2"), nil, true},
		{"expired", "/events/a/e", objectValue("2", "x"), nil, true},
		{"a Lease", "/leases/a/l", nil, objectValue("4", "x"), true},
	} {
		if got := want.Wants(test.key, test.from, test.to); got != test.wants {
			t.Errorf("%s: got %v, want %v", test.change, got, test.wants)
		}
	}
}
