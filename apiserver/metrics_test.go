package apiserver

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	listers "k8s.io/kube-aggregator/pkg/client/listers/apiregistration/v1"

	"github.com/ctrlplane/ctrlplane/sim/metricsapi"
)

// Ours answers until a user's APIService names a service, and again after it
// has gone.
func TestMetricsRouteFollowsAPIService(t *testing.T) {
	says := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) })
	}
	config := &server.RecommendedConfig{}
	config.BuildHandlerChainFunc = func(h http.Handler, _ *server.Config) http.Handler { return h }
	route, err := routeMetrics(config, false)
	if err != nil {
		t.Fatal(err)
	}
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	route.services, route.proxy = listers.NewAPIServiceLister(store), says("theirs")
	chain := config.BuildHandlerChainFunc(says("ours"), &config.Config)

	local, foreign := metricsapi.APIService(), metricsapi.APIService()
	foreign.Spec.Service = &apiregistrationv1.ServiceReference{Name: "metrics-server"}
	for _, step := range []struct {
		name, metrics string
		service       *apiregistrationv1.APIService // nil = none
	}{
		{"none", "ours", nil},
		{"local", "ours", local},
		{"foreign", "theirs", foreign},
		{"none again", "ours", nil},
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
			"/apis/metrics.k8s.io.example":      "ours",
			"/apis/apps/v1":                     "ours",
			"/api/v1/pods":                      "ours",
		} {
			w := httptest.NewRecorder()
			chain.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			if got := w.Body.String(); got != want {
				t.Errorf("%s: %s: got %s, want %s", step.name, path, got, want)
			}
		}
	}
}
