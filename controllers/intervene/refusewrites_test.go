package intervene

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

func TestRefuseWrites(t *testing.T) {
	api, errNotLeader := &fakeTransport{}, errors.New("not the leader")
	var refusal error
	cfg := RefuseWrites(&rest.Config{Transport: api}, func() error { return refusal })
	rt, err := rest.TransportFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x"
	send := func(method, path string, want error) {
		t.Helper()
		if err := sendRequest(t.Context(), rt, method, path, ""); !errors.Is(err, want) {
			t.Errorf("%s %s: got %v, want %v", method, path, err, want)
		}
	}
	send(http.MethodPost, pods, nil)
	refusal = errNotLeader
	send(http.MethodPost, pods+"/refused", errNotLeader)
	send(http.MethodDelete, pods+"/refused", errNotLeader)
	send(http.MethodGet, pods+"/x", nil)
	send(http.MethodPut, lease, nil)
	if diff := cmp.Diff([]string{pods, pods + "/x", lease}, api.sentPaths()); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}
