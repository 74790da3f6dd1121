package intervene

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
)

// watchThrough opens a watch of Pods through a gate in a server, in a format.
func watchThrough(t *testing.T, g *Gate, contentType string) watch.Interface {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		g.Handle(w, req, new(time.Duration), http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-req.Context().Done()
		}))
	}))
	t.Cleanup(server.Close)
	client, err := corev1client.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	w, err := client.Pods("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

// An operator that ignores that its version has expired can be found: its open watches end as those of the API server do.
func TestFaultsEndOpenWatches(t *testing.T) {
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf;stream=watch"} {
		for code, is := range map[string]func(error) bool{"410": apierrors.IsResourceExpired, "500": apierrors.IsInternalError} {
			t.Run(fmt.Sprint(contentType, " ", code), func(t *testing.T) {
				g := NewGate(ObjectReader{})
				w := watchThrough(t, g, contentType)
				for _, f := range []control.Fault{
					{Rate: 1, Code: "403"}, {Rate: 1, Code: "403", Verb: "watch", Resource: "services"}, {Rate: 1, Code: "403", Verb: "list"}, // which do not end it
					{Rate: 1, Code: code, Verb: "watch", Resource: "pods"},
				} {
					if err := g.SetFault(f); err != nil {
						t.Fatal(err)
					}
				}
				if e := <-w.ResultChan(); e.Type != watch.Error || !is(apierrors.FromObject(e.Object)) {
					t.Errorf("got %+v", e)
				}
				if _, ok := <-w.ResultChan(); ok {
					t.Error("the watch goes on")
				}
			})
		}
	}
}

// A format that is not known has no event.
func TestErrorEventOfUnknownFormat(t *testing.T) {
	if got := newErrorEvent("application/cbor-seq", metav1.Status{}); got != nil {
		t.Errorf("got %q", got)
	}
}
