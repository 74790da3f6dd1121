package apiserver

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/warning"

	"github.com/ctrlplane/ctrlplane/apiserver/loopback"
	"github.com/ctrlplane/ctrlplane/internal/useragent"
)

// OutsideHandler handles a request from outside of this process: it passes it on to
// next, or answers it. who is nil if the request could not be authenticated; next
// rejects it then.
//
// It runs in front of upstream's filters. A request that waits here holds no seat of
// priority and fairness, and upstream's deadline has not begun.
type OutsideHandler func(w http.ResponseWriter, req *http.Request, who user.Info, next http.Handler)

// authentication is the result of an authenticator, kept for upstream's filter, and what it
// warned the client of.
type authentication struct {
	response *authenticator.Response
	ok       bool
	err      error
	warnings []authenticationWarning
}

type authenticationWarning struct{ agent, text string }

// AddWarning implements warning.Recorder.
func (a *authentication) AddWarning(agent, text string) {
	a.warnings = append(a.warnings, authenticationWarning{agent, text})
}

// authenticate authenticates a request. What upstream's audit log has of that is kept in the
// context of the request.
func authenticate(req *http.Request, by authenticator.Request) (*http.Request, *authentication) {
	known := &authentication{}
	ctx := audit.WithAuditContext(req.Context())
	known.response, known.ok, known.err = by.AuthenticateRequest(req.WithContext(warning.WithWarningRecorder(ctx, known)))
	return req.WithContext(context.WithValue(ctx, authenticationKey{}, known)), known
}

type authenticationKey struct{}

// installOutsideHandler makes handle receive the requests from outside of this process.
// They are authenticated here, so that handle knows who sends them, and once only.
func installOutsideHandler(config *server.RecommendedConfig, handle OutsideHandler) {
	if handle == nil {
		return
	}
	network := config.Authentication.Authenticator
	config.Authentication.Authenticator = authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		if known, ok := req.Context().Value(authenticationKey{}).(*authentication); ok {
			for _, w := range known.warnings {
				warning.AddWarning(req.Context(), w.agent, w.text)
			}
			return known.response, known.ok, known.err
		}
		return network.AuthenticateRequest(req)
	})
	build := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(h http.Handler, cfg *server.Config) http.Handler {
		chain, authentications := build(h, cfg), cfg.Authentication
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if loopback.IsCall(req) {
				chain.ServeHTTP(w, req)
				return
			}
			if len(authentications.APIAudiences) > 0 { // as upstream's filter does
				req = req.WithContext(authenticator.WithAudiences(req.Context(), authentications.APIAudiences))
			}
			req, known := authenticate(req, authentications.Authenticator)
			var who user.Info
			if known.ok && known.err == nil {
				who = known.response.User
			}
			if who != nil && who.GetName() == user.APIServerUser { // a few of its own clients use the network
				req.Header.Set("User-Agent", useragent.Of(useragent.APIServer))
				chain.ServeHTTP(w, req)
				return
			}
			handle(w, req, who, chain)
		})
	}
}
