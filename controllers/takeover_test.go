package controllers

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
)

// electedUpdates returns the updates of a Lease, held by a program that has ended, with which
// upstream's leader election takes it over, renews it twice, and releases it.
func electedUpdates(t *testing.T) (updates []*coordinationv1.Lease) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "op"},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: new("a"), LeaseDurationSeconds: new(int32(15)),
				AcquireTime: new(metav1.NewMicroTime(time.Now().Add(-time.Hour))), RenewTime: new(metav1.NewMicroTime(time.Now())),
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		client.PrependReactor("update", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
			time.Sleep(time.Millisecond) // of the fake clock: a request takes time
			updates = append(updates, a.(clienttesting.UpdateAction).GetObject().(*coordinationv1.Lease).DeepCopy())
			if len(updates) == 3 {
				cancel()
			}
			return false, nil, nil
		})
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta: metav1.ObjectMeta{Namespace: "ns", Name: "op"}, Client: client.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: "b"},
			},
			LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
		})
	})
	return updates
}

// Only the first update of a new leader takes the Lease over.
func TestTakeoverOfLease(t *testing.T) {
	want := []string{"b", "", "", ""} // a takeover, two renewals, a release
	updates := electedUpdates(t)
	for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
		if !ok {
			t.Fatal(mediaType)
		}
		var got []string
		for _, lease := range updates {
			body, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, coordinationv1.SchemeGroupVersion), lease)
			if err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "https://x/apis/coordination.k8s.io/v1/namespaces/ns/leases/op", bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if c := recording.DescribeRequest(req); !recording.IsLeaseUpdate(c) {
				t.Errorf("%+v is not taken for an update of a Lease", c)
			}
			got = append(got, recording.ParseTaker(body))
			for n := range body { // truncated
				if taker := recording.ParseTaker(body[:n]); taker != "" && taker != "b" {
					t.Errorf("%s: %d bytes name %q", mediaType, n, taker)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", mediaType, diff)
		}
	}
}
