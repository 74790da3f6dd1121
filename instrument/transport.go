package instrument

import (
	"net/http"
	"reflect"
	"strconv"

	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// transport says, in each request of a sync, which sync makes it.
type transport struct {
	next     http.RoundTripper
	reporter *reporter
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if s := t.syncOf(req); s != nil {
		req = net.CloneRequest(req)
		req.Header.Set(syncHeader, s.controller.reporter.session+"/"+s.controller.name+"/"+strconv.FormatUint(s.id, 10))
	}
	resp, err := t.next.RoundTrip(req)
	if err == nil && resp.StatusCode < http.StatusBadRequest {
		t.reporter.noteAnswer()
	}
	return resp, err
}

// syncOf returns the sync that makes a request; nil if there is none that the control plane knows.
func (t *transport) syncOf(req *http.Request) *syncRun {
	if !t.reporter.isOn() {
		return nil
	}
	s, _ := req.Context().Value(syncKey{}).(*syncRun)
	if s == nil { // the reconciler may use a context of its own
		s = t.reporter.goroutines.current().sync
	}
	if s == nil || !s.controller.reporter.isOfClient(t.reporter) {
		return nil
	}
	return s
}

// isOfClient reports whether the reports of both reporters are, for one control plane, those of the same client:
// it finds the sync of a request among those of the client that makes it.
func (r *reporter) isOfClient(other *reporter) bool {
	return r == other || r.url == other.url && reflect.DeepEqual(r.caller, other.caller)
}

// callerOf returns what a configuration says about who makes a request.
func callerOf(cfg *rest.Config) *rest.Config {
	c := &rest.Config{
		UserAgent: cfg.UserAgent, Impersonate: cfg.Impersonate,
		Username: cfg.Username, Password: cfg.Password, BearerToken: cfg.BearerToken, BearerTokenFile: cfg.BearerTokenFile,
		AuthProvider: cfg.AuthProvider, ExecProvider: cfg.ExecProvider,
	}
	if c.BearerTokenFile != "" {
		c.BearerToken = "" // it is what was in the file once
	}
	tls := cfg.TLSClientConfig
	c.CertFile, c.KeyFile, c.CertData, c.KeyData = tls.CertFile, tls.KeyFile, tls.CertData, tls.KeyData
	return c
}

// WrappedRoundTripper implements net.RoundTripperWrapper.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// CloseIdleConnections is what http.Client looks for.
func (t *transport) CloseIdleConnections() { net.CloseIdleConnectionsFor(t.next) }
