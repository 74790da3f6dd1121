package intervene

import (
	"errors"
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/internal/requestkind"
	"github.com/ctrlplane/ctrlplane/observe"
)

// InterceptCalls makes the calls of cfg's clients pass a gate, and returns cfg.
// Wrap it with recording.ObserveCalls afterwards, so that what is recorded is
// what the controller receives.
func InterceptCalls(cfg *rest.Config, g *Gate) *rest.Config {
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return gateTransport{next, g} })
	return cfg
}

// gateTransport is a transport whose calls pass a gate.
type gateTransport struct {
	next http.RoundTripper
	gate *Gate
}

func (t gateTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.roundTrip(req, canBeHeld(req), new(observe.Called))
}

// RoundTripDescribed is RoundTrip of a request whose object and subresource recording.ObserveCalls has read from it.
func (t gateTransport) RoundTripDescribed(req *http.Request, call *observe.Called) (*http.Response, error) {
	return t.roundTrip(req, !isRead(req) && changesState(call.Object, call.Subresource), call)
}

func (t gateTransport) roundTrip(req *http.Request, holdable bool, call *observe.Called) (*http.Response, error) {
	g := t.gate
	g.WaitTurn(req.Context())
	if err := g.applyDelay(req.Context(), &call.Held); err != nil {
		return nil, rejectRequest(req, err)
	}
	if !holdable {
		if err := g.refusal(); err != nil {
			return nil, rejectRequest(req, err)
		}
		return t.roundTripOrFail(req)
	}
	h, err := g.admitWrite(req, true, &call.Held)
	if err != nil {
		return nil, rejectRequest(req, err)
	}
	if h != nil && h.stepped != nil {
		return t.roundTripStep(req, h)
	}
	resp, err := t.roundTripOrFail(req)
	g.finishWrite(h, resp, err)
	return resp, err
}

// roundTripStep sends a write that a step has released, and reads the object
// before and after it.
func (t gateTransport) roundTripStep(req *http.Request, h *heldWrite) (*http.Response, error) {
	g := t.gate
	h.change = g.objects.readBefore(req, h.call)
	if err := req.Context().Err(); err != nil { // canceled while the object was read
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

// roundTripOrFail returns the API server's response, or an injected one.
func (t gateTransport) roundTripOrFail(req *http.Request) (*http.Response, error) {
	if resp := t.gate.injectFault(req); resp != nil {
		return resp, closeBody(req)
	}
	return t.next.RoundTrip(req)
}

func isRead(req *http.Request) bool {
	return req.Method == http.MethodGet || req.Method == http.MethodHead
}

// canBeHeld reports whether a request is a write that a pause holds. Leases are
// exempt, as their holder would be considered dead, and what writes nothing, such as a review.
func canBeHeld(req *http.Request) bool {
	if isRead(req) {
		return false
	}
	c := recording.DescribeRequest(req)
	return changesState(c.Object, c.Subresource)
}

func changesState(o observe.Object, subresource string) bool {
	return requestkind.ChangesState(o.Group, o.Resource, subresource)
}

// rejectRequest ends a request without sending it: a transport has to close the
// body in any case.
func rejectRequest(req *http.Request, err error) error { return errors.Join(err, closeBody(req)) }

func closeBody(req *http.Request) error {
	if req.Body == nil {
		return nil
	}
	return req.Body.Close()
}
