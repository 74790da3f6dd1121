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
	if !t.reporter.isOn() {
		return t.next.RoundTrip(req)
	}
	s, _ := req.Context().Value(syncKey{}).(*syncRun)
	if s != nil && s.controller.reporter != t.reporter { // of another manager, which numbers its own syncs
		s = nil
	}
	if s == nil { // the reconciler may use a context of its own
		s = t.reporter.goroutines.current().sync
	}
	if s == nil {
		return t.next.RoundTrip(req)
	}
	req = net.CloneRequest(req)
	req.Header.Set(syncHeader, t.reporter.session+"/"+s.controller.name+"/"+strconv.FormatUint(s.id, 10))
	return t.next.RoundTrip(req)
}

// WrappedRoundTripper implements net.RoundTripperWrapper.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }
