package controllers

import (
	"errors"
	"net/http"
	"strings"
)

// gateTransport is a transport with a gate before it.
type gateTransport struct {
	next http.RoundTripper
	gate *Gate
}

func (t gateTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	g := t.gate
	if err := g.applyDelay(req.Context()); err != nil {
		return nil, rejectRequest(req, err)
	}
	if !canBeHeld(req) {
		return t.roundTripOrFail(req)
	}
	h, err := g.admitWrite(req)
	if err != nil {
		return nil, rejectRequest(req, err)
	}
	if h != nil && h.byStep {
		return t.roundTripStep(req, h)
	}
	resp, err := t.roundTripOrFail(req)
	g.finishWrite(h, resp, err)
	return resp, err
}

// roundTripStep carries out a write that a step has let go, and notes what it changes.
func (t gateTransport) roundTripStep(req *http.Request, h *heldWrite) (*http.Response, error) {
	g := t.gate
	h.change = g.objects.readBefore(req, h.call)
	if err := req.Context().Err(); err != nil { // its caller has given up meanwhile
		g.mu.Lock()
		defer g.mu.Unlock()
		g.abandonWrite(h)
		return nil, rejectRequest(req, err)
	}
	resp, err := t.roundTripOrFail(req)
	if err == nil && resp.StatusCode < http.StatusBadRequest {
		h.change = g.objects.readAfter(req, h.call, resp, h.change)
	}
	g.finishWrite(h, resp, err)
	return resp, err
}

// roundTripOrFail is the API server's, or one that stands for it.
func (t gateTransport) roundTripOrFail(req *http.Request) (*http.Response, error) {
	if resp := t.gate.injectFault(req); resp != nil {
		return resp, closeBody(req)
	}
	return t.next.RoundTrip(req)
}

// canBeHeld says whether a request may be held. Those for leases may not: their
// holder would be taken for dead. Reviews ask, and write nothing.
func canBeHeld(req *http.Request) bool {
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		return false
	}
	path := req.URL.Path
	if strings.HasPrefix(path, "/apis/authorization.k8s.io/") || strings.HasPrefix(path, "/apis/authentication.k8s.io/") {
		return false
	}
	return !strings.HasPrefix(path, "/apis/coordination.k8s.io/") || !strings.Contains(path+"/", "/leases/")
}

// rejectRequest is how a transport gives a request back without carrying it out.
func rejectRequest(req *http.Request, err error) error { return errors.Join(err, closeBody(req)) }

func closeBody(req *http.Request) error {
	if req.Body == nil {
		return nil
	}
	return req.Body.Close()
}
