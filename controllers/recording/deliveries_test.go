package recording

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Every kind of event is recorded and reaches the handler.
func TestDeliveriesAreRecorded(t *testing.T) {
	o := observe.New(observe.Options{})
	defer o.Close()
	by := o.Recorder("c")
	pod := func(name, version string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "u", ResourceVersion: version}}
	}
	var handled []string
	d := &deliveryRecorder{
		next: cache.ResourceEventHandlerDetailedFuncs{
			AddFunc:    func(obj any, listed bool) { handled = append(handled, "add") },
			UpdateFunc: func(_, obj any) { handled = append(handled, "update") },
			DeleteFunc: func(obj any) { handled = append(handled, "delete") },
		},
		recorder: by,
		handler:  by.AddHandler("pods"),
		object:   observe.Object{Resource: "pods", Kind: "Pod"},
	}
	d.OnAdd(pod("a", "1"), true)
	d.OnAdd(pod("a", "1"), false)
	d.OnUpdate(pod("a", "1"), pod("a", "2"))
	d.OnUpdate(pod("a", "2"), pod("a", "2"))
	d.OnDelete(pod("a", "3"))
	o.NoteVersion("pods", 3)
	if got := behindHandlers(t, o); len(got) != 0 {
		t.Errorf("behind after the last event: %v", got)
	}
	d.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/a", Obj: pod("a", "2")})
	d.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/b"})
	if want := []string{"add", "add", "update", "update", "delete", "delete", "delete"}; !cmp.Equal(handled, want) {
		t.Errorf("the handler received %v", handled)
	}
	a := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "ns", Name: "a", UID: "u"}
	b := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "ns", Name: "b"}
	want := []observe.Delivered{
		{Change: observe.Listed, Object: a, ResourceVersion: "1", NoExecute: &observe.NoExecute{}},
		{Change: observe.Added, Object: a, ResourceVersion: "1", NoExecute: &observe.NoExecute{}},
		{Change: observe.Updated, Object: a, ResourceVersion: "2"},
		{Change: observe.Resynced, Object: a, ResourceVersion: "2"},
		{Change: observe.Deleted, Object: a, ResourceVersion: "3"},
		{Change: observe.Deleted, Object: a, ResourceVersion: "2"},
		{Change: observe.Deleted, Object: b},
	}
	page, err := o.Records(t.Context(), observe.Query{Kinds: []observe.Kind{observe.KindDelivered}})
	if err != nil {
		t.Fatal(err)
	}
	var got []observe.Delivered
	for _, r := range page.Records {
		e := *r.Event.(*observe.Delivered)
		e.Took, e.Controller = 0, ""
		got = append(got, e)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func behindHandlers(t *testing.T, o *observe.Observer) (all []observe.WatchLag) {
	t.Helper()
	s, err := o.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Controllers {
		all = append(all, c.Behind...)
	}
	return all
}
