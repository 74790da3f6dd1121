package apiserver

import (
	"net/http"
	"strings"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
)

// restrictAnonymousToHealth rejects anonymous requests to other than health endpoints.
func restrictAnonymousToHealth(next authenticator.Request) authenticator.Request {
	return authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		resp, ok, err := next.AuthenticateRequest(req)
		if ok && resp.User.GetName() == user.Anonymous && !isHealthPath(req.URL.Path) {
			return nil, false, err
		}
		return resp, ok, err
	})
}

func isHealthPath(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch first {
	case "healthz", "livez", "readyz":
		return true
	}
	return false
}
