package controllers

import (
	"errors"
	"net/http"
	"strings"
)

// gated is a transport with a gate before it.
type gated struct {
	next http.RoundTripper
	gate *gate
}

func (t gated) RoundTrip(req *http.Request) (*http.Response, error) {
	g := t.gate
	if err := g.linger(req.Context()); err != nil {
		return nil, refuse(req, err)
	}
	if !writes(req) {
		return t.answer(req)
	}
	h, err := g.enter(req)
	if err != nil {
		return nil, refuse(req, err)
	}
	if h != nil && h.step {
		return t.watched(req, h)
	}
	resp, err := t.answer(req)
	g.leave(h, resp, err)
	return resp, err
}

// watched carries out a write that a step has let go, and notes what it changes.
func (t gated) watched(req *http.Request, h *hold) (*http.Response, error) {
	g := t.gate
	h.seen = g.look.before(req, h.call)
	if err := req.Context().Err(); err != nil { // its caller has given up meanwhile
		g.mu.Lock()
		defer g.mu.Unlock()
		g.giveUp(h)
		return nil, refuse(req, err)
	}
	resp, err := t.answer(req)
	if err == nil && resp.StatusCode < http.StatusBadRequest {
		h.seen = g.look.after(req, h.call, resp, h.seen)
	}
	g.leave(h, resp, err)
	return resp, err
}

// answer is the API server's, or one that stands for it.
func (t gated) answer(req *http.Request) (*http.Response, error) {
	if resp := t.gate.inject(req); resp != nil {
		return resp, closeBody(req)
	}
	return t.next.RoundTrip(req)
}

// writes says whether a request may be held. Those for leases may not: their
// holder would be taken for dead. Reviews ask, and write nothing.
func writes(req *http.Request) bool {
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		return false
	}
	path := req.URL.Path
	if strings.HasPrefix(path, "/apis/authorization.k8s.io/") || strings.HasPrefix(path, "/apis/authentication.k8s.io/") {
		return false
	}
	return !strings.HasPrefix(path, "/apis/coordination.k8s.io/") || !strings.Contains(path+"/", "/leases/")
}

// refuse is how a transport gives a request back without carrying it out.
func refuse(req *http.Request, err error) error { return errors.Join(err, closeBody(req)) }

func closeBody(req *http.Request) error {
	if req.Body == nil {
		return nil
	}
	return req.Body.Close()
}
