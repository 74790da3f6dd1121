package web

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// securityHeaders are sent with every response. The policy of the page allows its own
// files only, no inline script or style, and no way to turn text into markup.
var securityHeaders = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Cache-Control":                "no-store",
}

// guard protects the handlers of a server from other sites and from requests without a
// session.
type guard struct {
	sessions *sessions
	// certificate has the names by which the server can be called; nil on a server
	// without TLS.
	certificate *x509.Certificate
	// cookie is the name of the cookie. It has the port: a browser keeps one set of
	// cookies for all ports of a host.
	cookie   string
	readOnly bool
}

// protect rejects requests by a name that is not the server's, which DNS rebinding would
// use, and requests of other sites.
func (g *guard) protect(next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next) // POST of another site
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		for name, value := range securityHeaders {
			w.Header().Set(name, value)
		}
		if !g.isOwnHost(req) {
			writeError(w, http.StatusMisdirectedRequest, fmt.Errorf("host %q is not a name of this server: open the link that ctrlplane has printed", req.Host))
			return
		}
		if site := req.Header.Get("Sec-Fetch-Site"); strings.HasPrefix(req.URL.Path, "/api/") && site != "" && site != "same-origin" {
			writeError(w, http.StatusForbidden, fmt.Errorf("requests of another site are not allowed"))
			return
		}
		next.ServeHTTP(w, req)
	})
}

// isOwnHost reports whether a request names the server by a loopback name, by the address
// at which it has arrived, or by a name in the certificate.
func (g *guard) isOwnHost(req *http.Request) bool {
	local, ok := req.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return false
	}
	host, port, err := net.SplitHostPort(req.Host)
	if err != nil { // the default port is left out
		host, port = strings.Trim(req.Host, "[]"), "80"
		if req.TLS != nil {
			port = "443"
		}
	}
	if port != fmt.Sprint(local.Port) {
		return false
	}
	if ip := net.ParseIP(host); ip != nil {
		return ip.Equal(local.IP)
	}
	if strings.EqualFold(host, "localhost") {
		return local.IP.IsLoopback()
	}
	return g.certificate != nil && g.certificate.VerifyHostname(host) == nil
}

// keyHeader has the key of the page's session.
const keyHeader = "Ctrlplane-Page-Key"

type visitKey struct{}

// visitOf returns the session of a request.
func visitOf(req *http.Request) visit {
	v, _ := req.Context().Value(visitKey{}).(visit)
	return v
}

// credentialsOf returns what a request has of a session; they may be wrong.
func (g *guard) credentialsOf(req *http.Request) credentials {
	c := credentials{key: req.Header.Get(keyHeader)}
	if cookie, err := req.Cookie(g.cookie); err == nil {
		c.cookie = cookie.Value
	}
	return c
}

// requireSession rejects requests without a session, and those of viewers that would
// change something.
func (g *guard) requireSession(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		v := g.sessions.check(g.credentialsOf(req))
		if g.readOnly {
			v.access = min(v.access, Viewer)
		}
		switch {
		case v.access == 0:
			writeError(w, http.StatusUnauthorized, fmt.Errorf("this page has no session: open the last link that ctrlplane has printed"))
		case v.access < Operator && req.Method != http.MethodGet:
			writeError(w, http.StatusForbidden, fmt.Errorf("this page is read-only: to intervene, open the last link for operators that ctrlplane has printed"))
		default:
			next.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), visitKey{}, v)))
		}
	})
}

// message is the body of an error.
type message struct {
	Message string `json:"message"`
}

func writeError(w http.ResponseWriter, code int, err error) {
	writeJSON(w, code, message{err.Error()})
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		code, data = http.StatusInternalServerError, []byte(`{"message":"the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(data) // an error means that the page was closed
}
