package instrument

import (
	"net/http"
	"strconv"

	"k8s.io/apimachinery/pkg/util/net"
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
	if s == nil || s.controller.reporter.url != t.reporter.url { // of a manager of another control plane
		return nil
	}
	return s
}

// WrappedRoundTripper implements net.RoundTripperWrapper.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }
