package apiserver

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

type roundTripperFunc func(*http.Request) (*http.Response, error)

func (f roundTripperFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// A factory's client cannot be asked for; that takeInformers has found it shows in
// where the requests of other informers go.
func TestInformersUseLoopback(t *testing.T) {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "https://127.0.0.1:1", TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	if err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(client, time.Hour)
	asked := make(chan string, 16)
	useLoopbackInformers(factory, roundTripperFunc(func(req *http.Request) (*http.Response, error) {
		select {
		case asked <- req.URL.Path:
		default:
		}
		return nil, errors.New("nothing here")
	}))
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
		case path := <-asked:
			delete(want, path)
		case <-ctx.Done():
			t.Fatalf("not asked for: %v", want)
		}
	}
}
