package apiserver

import (
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server"
)

// installLongRunning exempts requests from the time limit of requests, as watches are.
func installLongRunning(config *server.RecommendedConfig, isLong func(*http.Request) bool) {
	if isLong == nil {
		return
	}
	upstream := config.LongRunningFunc
	config.LongRunningFunc = func(req *http.Request, info *request.RequestInfo) bool {
		return upstream(req, info) || isLong(req)
	}
}
