package apiserver

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	listers "k8s.io/kube-aggregator/pkg/client/listers/apiregistration/v1"
)

// The process answers while no APIService of a user names a service.
func TestLocalAPIRouteFollowsAPIService(t *testing.T) {
	answers := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) })
	}
	local := &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1beta1.metrics.k8s.io"},
		Spec:       apiregistrationv1.APIServiceSpec{Group: "metrics.k8s.io", Version: "v1beta1"},
	}
	foreign := local.DeepCopy()
	foreign.Spec.Service = &apiregistrationv1.ServiceReference{Name: "metrics-server"}

	config := &server.RecommendedConfig{}
	config.BuildHandlerChainFunc = func(h http.Handler, _ *server.Config) http.Handler { return h }
	route, err := newLocalAPIRoute(config, LocalAPI{
		APIService:         local,
		SetDefinitionNames: func(*server.Config) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	route.services, route.proxy = listers.NewAPIServiceLister(store), answers("service")
	chain := config.BuildHandlerChainFunc(answers("process"), &config.Config)

	for _, step := range []struct {
		name, metrics string
		service       *apiregistrationv1.APIService // nil = none
	}{
		{"none", "process", nil},
		{"local", "process", local},
		{"foreign", "service", foreign},
		{"none again", "process", nil},
	} {
		var err error
		if step.service == nil {
			err = store.Delete(local)
		} else {
			err = store.Update(step.service)
		}
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{
			"/apis/metrics.k8s.io":              step.metrics,
			"/apis/metrics.k8s.io/v1beta1/pods": step.metrics,
			"/apis/metrics.k8s.io.example":      "process",
			"/apis/apps/v1":                     "process",
			"/api/v1/pods":                      "process",
		} {
			w := httptest.NewRecorder()
			chain.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			if got := w.Body.String(); got != want {
				t.Errorf("%s: %s: got %s, want %s", step.name, path, got, want)
			}
		}
	}
}
