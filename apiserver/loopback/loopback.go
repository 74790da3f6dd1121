// Package loopback calls an HTTP handler of this process without leaving it: no
// socket, no TLS, no credentials. It streams, so that a watch works, and holds
// a writer back that its reader cannot follow.
package loopback

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
)

// URL is the base of every request; nothing resolves it.
const URL = "http://ctrlplane.invalid"

// identityKey marks a request made inside the process with who makes it. No
// request from a socket can carry it.
type identityKey struct{}

// Authenticator recognises the callers inside the process and leaves everybody
// else to next.
func Authenticator(next authenticator.Request) authenticator.Request {
	return authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		who, ok := req.Context().Value(identityKey{}).(user.Info)
		if !ok {
			return next.AuthenticateRequest(req)
		}
		audiences, _ := authenticator.AudiencesFrom(req.Context())
		return &authenticator.Response{User: who, Audiences: audiences}, true, nil
	})
}

// ClientConfig returns a client configuration that calls handler as who, without a
// client-side rate limit, in protobuf where the server has it.
func ClientConfig(handler http.Handler, who user.Info) *rest.Config {
	return &rest.Config{
		Host:      URL,
		Transport: Transport{Handler: handler, User: who},
		QPS:       -1,
		ContentConfig: rest.ContentConfig{
			ContentType:        "application/vnd.kubernetes.protobuf",
			AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json",
		},
		DisableCompression: true,
	}
}

// Transport is an http.RoundTripper that runs Handler, each request in a
// goroutine of its own.
type Transport struct {
	Handler http.Handler
	User    user.Info
}

// RoundTrip returns when the handler has sent its header, or when the request
// is cancelled; the handler's context ends with the response's body.
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(context.WithValue(req.Context(), identityKey{}, t.User))
	inner := req.Clone(ctx)
	inner.RequestURI = req.URL.RequestURI()
	inner.RemoteAddr = "127.0.0.1:0"
	inner.Proto, inner.ProtoMajor, inner.ProtoMinor = "HTTP/2.0", 2, 0
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	w := newResponseWriter(ctx)
	go func() {
		defer w.finish()
		defer inner.Body.Close()
		defer func() {
			// Handlers panic to abort a response, as net/http's servers allow.
			if r := recover(); r != nil {
				w.abort(fmt.Errorf("%s %s: %v", req.Method, req.URL.Path, r))
			}
		}()
		t.Handler.ServeHTTP(w, inner)
	}()
	select {
	case <-w.headerSent:
	case <-ctx.Done():
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
