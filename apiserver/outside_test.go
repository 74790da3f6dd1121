package apiserver

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server"

	"github.com/ctrlplane/ctrlplane/apiserver/loopback"
)

// Requests from outside are authenticated once, before upstream's filters, and those of
// this process are not handled.
func TestOutsideHandler(t *testing.T) {
	authenticated, passed := 0, ""
	config := &server.RecommendedConfig{}
	config.Authentication.Authenticator = loopback.Authenticator(authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		authenticated++
		name := req.Header.Get("Test-User")
		return &authenticator.Response{User: &user.DefaultInfo{Name: name}}, name != "", nil
	}))
	config.BuildHandlerChainFunc = func(h http.Handler, cfg *server.Config) http.Handler { // upstream's, in short
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if resp, ok, err := cfg.Authentication.Authenticator.AuthenticateRequest(req); ok && err == nil {
				passed = resp.User.GetName()
			}
			h.ServeHTTP(w, req)
		})
	}
	handled := ""
	installOutsideHandler(config, func(w http.ResponseWriter, req *http.Request, who user.Info, next http.Handler) {
		handled = "nobody"
		if who != nil {
			handled = who.GetName()
		}
		next.ServeHTTP(w, req)
	})
	h := config.BuildHandlerChainFunc(http.NotFoundHandler(), &config.Config)
	for _, tt := range []struct {
		user, handled, passed string
	}{
		{"alice", "alice", "alice"}, {"", "nobody", ""}, {user.APIServerUser, "", user.APIServerUser},
	} {
		authenticated, passed, handled = 0, "", ""
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.Header.Set("Test-User", tt.user)
		h.ServeHTTP(httptest.NewRecorder(), req)
		if handled != tt.handled || passed != tt.passed || authenticated != 1 {
			t.Errorf("%q: handled %q, passed %q, authenticated %d times", tt.user, handled, passed, authenticated)
		}
	}
	authenticated, passed, handled = 0, "", ""
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, loopback.URL+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := loopback.Transport{Handler: h, User: &user.DefaultInfo{Name: "controller"}}.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if handled != "" || passed != "controller" || authenticated != 0 {
		t.Errorf("a call of this process: handled %q, passed %q, authenticated %d times", handled, passed, authenticated)
	}
}
