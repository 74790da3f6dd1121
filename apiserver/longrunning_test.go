package apiserver

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server"
)

func TestLongRunningRequests(t *testing.T) {
	config := &server.RecommendedConfig{}
	config.LongRunningFunc = func(_ *http.Request, info *request.RequestInfo) bool { return info.Verb == "watch" }
	installLongRunning(config, func(req *http.Request) bool { return req.URL.Path == "/restore" })
	for _, test := range []struct {
		path, verb string
		want       bool
	}{
		{"/restore", "put", true},
		{"/api/v1/pods", "watch", true},
		{"/api/v1/pods", "list", false},
	} {
		if got := config.LongRunningFunc(httptest.NewRequest(http.MethodGet, test.path, nil), &request.RequestInfo{Verb: test.verb}); got != test.want {
			t.Errorf("%s %s: got %v, want %v", test.verb, test.path, got, test.want)
		}
	}
}
