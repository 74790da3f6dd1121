package scheduler

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"github.com/ctrlplane/ctrlplane/apiserver/loopback"
)

// The view of the shared informer holds the Pods that upstream's informer would ask for.
func TestPodsAreUpstreams(t *testing.T) {
	selectors := make(chan string, 1)
	handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/api/v1/pods" {
			select {
			case selectors <- req.URL.Query().Get("fieldSelector"):
			default:
			}
		}
		http.NotFound(w, req)
	})
	client, err := kubernetes.NewForConfig(loopback.ClientConfig(handler, schedulerUser()))
	if err != nil {
		t.Fatal(err)
	}
	own := newOwnInformers(client)
	own.Core().V1().Pods().Informer()
	stop := make(chan struct{})
	own.Start(stop)
	selector, err := fields.ParseSelector(<-selectors)
	close(stop)
	own.Shutdown()
	if err != nil {
		t.Fatal(err)
	}
	for _, phase := range []corev1.PodPhase{"", corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown} {
		pod := &corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
		if want := selector.Matches(fields.Set{"status.phase": string(phase)}); isUnfinished(pod) != want {
			t.Errorf("phase %q: %v, upstream's selector %q says %v", phase, !want, selector, want)
		}
	}
}
