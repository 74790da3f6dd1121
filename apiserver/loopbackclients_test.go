package apiserver

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
)

type roundTripperFunc func(*http.Request) (*http.Response, error)

func (f roundTripperFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// The client of a factory cannot be read. Where the requests of other informers go
// shows that it was replaced.
func TestInformersUseLoopback(t *testing.T) {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "https://127.0.0.1:1", TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	if err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(client, time.Hour)
	requested := make(chan string, 16)
	err = useLoopbackInformers(factory, roundTripperFunc(func(req *http.Request) (*http.Response, error) {
		select {
		case requested <- req.URL.Path:
		default:
		}
		return nil, errors.New("not found")
	}))
	if err != nil {
		t.Fatal(err)
	}
	factory.Apps().V1().Deployments().Informer()
	stop := make(chan struct{})
	defer factory.Shutdown()
	defer close(stop)
	factory.Start(stop)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	want := map[string]bool{"/apis/apps/v1/deployments": true, "/apis/networking.k8s.io/v1/servicecidrs": true}
	for len(want) > 0 {
		select {
		case path := <-requested:
			delete(want, path)
		case <-ctx.Done():
			t.Fatalf("not requested: %v", want)
		}
	}
}

// An informer that already exists does not show the factory's client: its requests
// would use the network.
func TestInformersThatCannotUseLoopbackAreReported(t *testing.T) {
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), time.Hour)
	factory.Networking().V1().ServiceCIDRs().Informer()
	if err := useLoopbackInformers(factory, http.DefaultTransport); err == nil {
		t.Error("got no error")
	}
	factory = informers.NewSharedInformerFactory(fake.NewClientset(), time.Hour) // has no *rest.RESTClient
	if err := useLoopbackInformers(factory, http.DefaultTransport); err == nil {
		t.Error("another client: got no error")
	}
}
