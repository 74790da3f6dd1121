// Package loopback calls an HTTP handler of this process without a socket, TLS or
// credentials. Responses stream, so that watches work. A response that its reader
// does not follow blocks the handler, as it would on a connection.
package loopback

import (
	"context"
	"fmt"
	"net/http"
	goruntime "runtime"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/useragent"
)

// URL is the base of every request. Its host does not resolve, so a client that
// leaves the Transport out fails instead of reaching another server.
const URL = "http://ctrlplane.invalid"

// Authenticator authenticates the requests that a Transport makes, and leaves all
// others to next.
func Authenticator(next authenticator.Request) authenticator.Request {
	return authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		who, ok := req.Context().Value(identityKey{}).(user.Info)
		if !ok {
			return next.AuthenticateRequest(req)
		}
		growStack()
		audiences, _ := authenticator.AudiencesFrom(req.Context())
		return &authenticator.Response{User: who, Audiences: audiences}, true, nil
	})
}

// growStack grows the stack of the goroutine to what most requests need. Upstream serves a
// request in a new goroutine, which authenticates it first: growing later, step by
// step, would copy the frames of all filters several times.
//
//go:noinline
func growStack() byte {
	var frame [8 << 10]byte
	return frame[goruntime.NumCgoCall()&1]
}

// IsCall reports whether a Transport made a request.
func IsCall(req *http.Request) bool { return req.Context().Value(identityKey{}) != nil }

// ClientConfig returns the configuration of a client that calls handler as user
// who. The client has no rate limit, and uses protobuf where the server offers it. Its
// user agent is that of kube-apiserver unless another one is set.
func ClientConfig(handler http.Handler, who user.Info) *rest.Config {
	return &rest.Config{
		Host:      URL,
		Transport: Transport{Handler: handler, User: who},
		QPS:       -1,
		UserAgent: useragent.Of(useragent.APIServer),
		ContentConfig: rest.ContentConfig{
			ContentType:        "application/vnd.kubernetes.protobuf",
			AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json",
		},
		DisableCompression: true,
	}
}

// Transport is an http.RoundTripper that runs Handler in a goroutine per request.
type Transport struct {
	Handler http.Handler
	User    user.Info
	// UserAgent replaces that of the requests; empty = it does not.
	UserAgent string
}

// RoundTrip returns when the handler has sent its header, or when the request is
// canceled. Closing the response's body cancels the handler's context.
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(callContext{caller: req.Context(), user: t.User})
	inner := req.Clone(ctx)
	inner.RequestURI = req.URL.RequestURI()
	inner.RemoteAddr = "127.0.0.1:0"
	if t.UserAgent != "" {
		inner.Header.Set("User-Agent", t.UserAgent)
	}
	inner.Proto, inner.ProtoMajor, inner.ProtoMinor = "HTTP/2.0", 2, 0
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	w := newResponseWriter(ctx, req.Context())
	go func() {
		defer w.finish()
		defer inner.Body.Close()
		defer func() {
			// Handlers may panic to abort a response, as with net/http's server.
			if r := recover(); r != nil {
				w.abort(fmt.Errorf("%s %s: %v", req.Method, req.URL.Path, r))
			}
		}()
		t.Handler.ServeHTTP(w, inner)
	}()
	select {
	case <-w.headerSent:
	case <-ctx.Done():
	}
	if ctx.Err() != nil { // also if the handler has answered because of that
		cancel()
		return nil, context.Cause(req.Context())
	}
	resp, err := w.newResponse(req)
	if err != nil {
		cancel()
		return nil, err
	}
	// The API server warns its own components, too, of deprecated APIs and unsafe
	// values, which no user can act on: client-go would log each of them.
	resp.Header.Del("Warning")
	resp.Body = &responseBody{w: w, cancel: cancel}
	return resp, nil
}
