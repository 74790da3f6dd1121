package recording

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ctrlplane/ctrlplane/observe"
)

// What upstream's leader election sends is tested in controllers, as its package needs the clients of all kinds.
func TestTakerOfSentLease(t *testing.T) {
	now, before := metav1.NowMicro(), metav1.NewMicroTime(time.Now().Add(-time.Minute))
	for _, tt := range []struct {
		spec coordinationv1.LeaseSpec
		want string
	}{
		{coordinationv1.LeaseSpec{HolderIdentity: new("b"), AcquireTime: &now, RenewTime: &now}, "b"},
		{coordinationv1.LeaseSpec{HolderIdentity: new("b"), AcquireTime: &before, RenewTime: &now}, ""},
		{coordinationv1.LeaseSpec{HolderIdentity: new("node-1"), RenewTime: &now}, ""}, // the heartbeat of a node
	} {
		for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
			body := encodeObject(t, &coordinationv1.Lease{Spec: tt.spec}, mediaType)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "https://x/apis/coordination.k8s.io/v1/namespaces/ns/leases/op", bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if got := describeSentLease(req); got != tt.want {
				t.Errorf("%s: %+v is taken over by %q, want %q", mediaType, tt.spec, got, tt.want)
			}
		}
	}
}

// That a Lease has another holder is recorded with the event that a controller receives.
func TestTakeoverIsDelivered(t *testing.T) {
	lease := func(holder string) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
	}
	for _, tt := range []struct{ before, after, want string }{{"a", "b", "b"}, {"a", "a", ""}, {"a", "", ""}, {"", "a", "a"}} {
		o := observe.New(observe.Options{})
		h, _ := ObserveEvents(discardEvents{}, coordinationv1.SchemeGroupVersion.WithResource("leases"), true, o.Recorder("c"))
		h.OnUpdate(lease(tt.before), lease(tt.after))
		page, err := o.Records(t.Context(), observe.Query{Kinds: []observe.Kind{observe.KindDelivered}})
		if err != nil || len(page.Records) != 1 {
			t.Fatalf("%v, %v", page.Records, err)
		}
		if got := page.Records[0].Event.(*observe.Delivered).TakenBy; got != tt.want {
			t.Errorf("from %q to %q: taken over by %q, want %q", tt.before, tt.after, got, tt.want)
		}
		o.Close()
	}
}

type discardEvents struct{}

func (discardEvents) OnAdd(any, bool)   {}
func (discardEvents) OnUpdate(any, any) {}
func (discardEvents) OnDelete(any)      {}
