package apiserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/warning"

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

// What authentication warns of and adds to the audit log reaches upstream's filters, which run later.
func TestAuthenticationWarns(t *testing.T) {
	const annotation, text = "authentication.k8s.io/legacy-token", "Use tokens from the TokenRequest API"
	config := &server.RecommendedConfig{}
	config.Authentication.Authenticator = authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		audit.AddAuditAnnotation(req.Context(), annotation, "yes")
		warning.AddWarning(req.Context(), "", text)
		return &authenticator.Response{User: &user.DefaultInfo{Name: "bot"}}, true, nil
	})
	var audited string
	config.BuildHandlerChainFunc = func(_ http.Handler, cfg *server.Config) http.Handler { // upstream's, in short
		return filters.WithAuditInit(filters.WithWarningRecorder(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			if _, ok, err := cfg.Authentication.Authenticator.AuthenticateRequest(req); !ok || err != nil {
				t.Errorf("not authenticated: %v", err)
			}
			audited, _ = audit.AuditContextFrom(req.Context()).GetEventAnnotation(annotation)
		})))
	}
	installOutsideHandler(config, func(w http.ResponseWriter, req *http.Request, _ user.Info, next http.Handler) { next.ServeHTTP(w, req) })
	w := httptest.NewRecorder()
	config.BuildHandlerChainFunc(http.NotFoundHandler(), &config.Config).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if audited != "yes" || !strings.Contains(w.Header().Get("Warning"), text) {
		t.Errorf("the audit log has %q, the response warns: %q", audited, w.Header().Get("Warning"))
	}
}
