package apiserver

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	listers "k8s.io/kube-aggregator/pkg/client/listers/apiregistration/v1"
)

func TestIsAggregated(t *testing.T) {
	services := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	for name, service := range map[string]*apiregistrationv1.ServiceReference{"v1.apps": nil, "v1.wardle.example.com": {Name: "wardle"}} {
		a := &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: apiregistrationv1.APIServiceSpec{Service: service}}
		if err := services.Add(a); err != nil {
			t.Fatal(err)
		}
	}
	s := &Server{apiServices: listers.NewAPIServiceLister(services)}
	for path, want := range map[string]bool{
		"/apis/wardle.example.com/v1/namespaces/default/flunders/x": true,
		"/apis/wardle.example.com/v2/flunders":                      false,
		"/apis/wardle.example.com/v1":                               false,
		"/apis/apps/v1/deployments":                                 false,
		"/api/v1/pods":                                              false,
		"/":                                                         false,
	} {
		if got := s.IsAggregated(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
