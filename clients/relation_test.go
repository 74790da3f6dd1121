package clients

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// The traits of an event leave out no related one.
func TestTraitsOfRelatedEvents(t *testing.T) {
	long := strings.Repeat("long-name-", 13)
	w := &write{object: observe.Object{Resource: "configmaps", Namespace: "ns", Name: "web", UID: "web-uid"}}
	w.owners = []recording.OwnerReference{{UID: "shop-uid", Name: "shop"}}
	w.names = namespacedNames{"ns", recording.MentionsIn([]byte(`{"metadata":{"name":"web"},"spec":{"secretName":"password","class":"other/fast"}}`), maxMentions)}
	w.mentioned = newObjectMentions("ns", "web")
	relatives := w.newRelatives()
	for _, test := range []struct {
		resource, namespace, name, uid, rest string
		owners                               []string
		related                              bool
	}{
		{resource: "configmaps", namespace: "ns", name: "web", related: true},
		{resource: "shops", namespace: "ns", name: "shop", uid: "shop-uid", related: true},
		{resource: "pods", namespace: "ns", name: "a", owners: []string{"web-uid"}, related: true},
		{resource: "pods", namespace: "ns", name: "b", owners: []string{"shop-uid"}, related: true},
		{resource: "pods", namespace: "ns", name: "c", owners: []string{"other-uid", "shop-uid"}, related: true},
		{resource: "secrets", namespace: "ns", name: "password", related: true},
		{resource: "classes", namespace: "other", name: "fast", related: true},
		{resource: "pods", namespace: "ns", name: "d", rest: `,"spec":{"configMapName":"web"}`, related: true},
		{resource: "pods", namespace: "other", name: "e", rest: `,"spec":{"configMap":"ns/web"}`, related: true},
		{resource: "pods", namespace: "ns", name: long, rest: `,"spec":{"configMapName":"web"}`, related: true},
		{resource: "pods", namespace: "ns", name: "f", owners: []string{"other-uid"}, rest: `,"spec":{"configMapName":"web"}`},
		{resource: "pods", namespace: "ns", name: "g"},
		{resource: "pods", namespace: "other", name: "h", owners: []string{"other-uid"}},
	} {
		var owners []string
		for _, uid := range test.owners {
			owners = append(owners, fmt.Sprintf(`{"kind":"Shop","name":%q,"uid":%q}`, "of-"+uid, uid))
		}
		frame := fmt.Appendf(nil, `{"type":"ADDED","object":{"metadata":{"namespace":%q,"name":%q,"uid":%q,"resourceVersion":"7","ownerReferences":[%s]}%s}}`,
			test.namespace, test.name, test.uid, strings.Join(owners, ","), test.rest)
		s := newSentEvent(recording.WatchEventParser("application/json")(frame), frame)
		e := &slot{event: &event{sentEvent: s, eventSource: &eventSource{resource: test.resource}}, sent: s, traits: newTraits(s)}
		if got := w.isRelatedTo(e.event); got != test.related {
			t.Errorf("%s/%s: related: %t", test.resource, test.name, got)
		}
		if test.related && !relatives.mayInclude(e) {
			t.Errorf("%s/%s: is left out", test.resource, test.name)
		}
	}
}
