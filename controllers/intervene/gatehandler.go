package intervene

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/internal/requestkind"
	"github.com/ctrlplane/ctrlplane/observe"
)

// maxKeptResponse is how much is kept of the response to a held write, to show the object
// after it.
const maxKeptResponse = 4 << 20

// maxBody is the longest body of a request that the API server accepts.
const maxBody = 3 << 20

// Handle passes a request through the gate and on to next. It does on the side of the
// server what InterceptCalls does in a client. A request that is not passed on is always
// answered: otherwise net/http would report success.
func (g *Gate) Handle(w http.ResponseWriter, req *http.Request, next http.Handler) {
	holdable := canBeHeld(req)
	prepared := g.mustPrepare(req, holdable)
	if prepared {
		if err := prepareWait(req); err != nil {
			refuse(w, req, err)
			return
		}
	}
	if holdable {
		next = g.refuseOutdated(next)
	}
	if g.applyDelay(req.Context()) != nil {
		refuse(w, req, canceledError(req))
		return
	}
	if !holdable {
		g.handleOrFail(w, req, next)
		return
	}
	h, err := g.admitWrite(req, prepared && !mayRenewLock(recording.DescribeRequest(req)))
	if errors.Is(err, errBodyUnread) { // paused meanwhile, or it may be a renewal
		if !prepared {
			if err := prepareWait(req); err != nil {
				refuse(w, req, err)
				return
			}
		}
		if g.renewsLock(req) {
			g.handleOrFail(w, req, next)
			return
		}
		h, err = g.admitWrite(req, true)
	}
	switch {
	case err != nil && req.Context().Err() != nil:
		refuse(w, req, canceledError(req))
		return
	case err != nil:
		refuse(w, req, apierrors.NewServiceUnavailable(err.Error()))
		return
	case h == nil:
		defer g.finishWrite(nil, nil, nil)
		g.handleOrFail(w, req, next)
		return
	}
	g.handleHeld(w, req, h, next)
}

func refuse(w http.ResponseWriter, req *http.Request, err *apierrors.StatusError) {
	resp := newStatusResponse(req, err.Status())
	defer resp.Body.Close()
	writeResponse(w, resp)
}

// refuseOutdated passes a write on to next unless RefuseWaiting is called before that.
func (g *Gate) refuseOutdated(next http.Handler) http.Handler {
	outer := g.path[0]
	before := outer.outdated.Load()
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		reason := outer.outdated.Load()
		if reason == before {
			next.ServeHTTP(w, req)
			return
		}
		o := recording.DescribeRequest(req).Object
		refuse(w, req, apierrors.NewConflict(schema.GroupResource{Group: o.Group, Resource: o.Resource}, o.Name, *reason))
	})
}

// canceledError is the answer to a request that has ended while it waited: its client has
// gone, or the API server closes.
func canceledError(req *http.Request) *apierrors.StatusError {
	return apierrors.NewServiceUnavailable(observe.NotPerformed + ": " + context.Cause(req.Context()).Error())
}

// handleHeld handles a write that was held. For a step it reads the object before and
// after it.
func (g *Gate) handleHeld(w http.ResponseWriter, req *http.Request, h *heldWrite, next http.Handler) {
	kept := &keptResponse{ResponseWriter: w, status: http.StatusOK}
	answered := false
	defer func() { // next may panic to abort the response
		if !answered {
			g.finishWrite(h, nil, http.ErrAbortHandler)
		}
	}()
	read := readerRequest(req)
	if h.stepped != nil {
		h.change = g.objects.readBefore(read, h.call)
	}
	g.handleOrFail(responsewriter.WrapForHTTP1Or2(kept), req, next)
	resp := kept.response(req)
	defer resp.Body.Close()
	if h.stepped != nil && resp.StatusCode < http.StatusBadRequest {
		h.change = g.objects.readAfter(read, h.call, resp, h.change)
	}
	answered = true
	g.finishWrite(h, resp, nil)
}

// readerRequest returns a request whose URL an ObjectReader can read: the host is that of its transport.
func readerRequest(req *http.Request) *http.Request {
	read := req.Clone(req.Context())
	read.URL.Scheme, read.URL.Host = "http", "ctrlplane.invalid"
	return read
}

// handleOrFail handles a request, or answers with an injected error.
func (g *Gate) handleOrFail(w http.ResponseWriter, req *http.Request, next http.Handler) {
	if resp := g.injectFault(req); resp != nil {
		defer resp.Body.Close()
		writeResponse(w, resp)
		return
	}
	if mayBeWatch(req) {
		g.serveWatch(w, req, next)
		return
	}
	next.ServeHTTP(w, req)
}

func writeResponse(w http.ResponseWriter, resp *http.Response) {
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	// An error means that the client has gone.
	_, _ = io.Copy(w, resp.Body)
}

// mustPrepare reports whether a request with a body, other than a stream, would have to wait.
func (g *Gate) mustPrepare(req *http.Request, holdable bool) bool {
	if isRead(req) {
		return false
	}
	g.mu.Lock()
	waits := slices.ContainsFunc(g.path, func(p *Gate) bool { return p.current.Delay > 0 || holdable && p.current.Paused })
	g.mu.Unlock()
	c := recording.DescribeRequest(req)
	return waits && (holdable || !requestkind.IsStream(c.Object.Group, c.Object.Resource, c.Subresource))
}

// prepareWait reads the body of a request that will wait, which a server can read only
// once: to show a held write, and because net/http notices that a client has gone only
// when the body has been read.
func prepareWait(req *http.Request) *apierrors.StatusError {
	if req.Body == nil {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, maxBody+1))
	switch {
	case err != nil && req.Context().Err() != nil:
		return canceledError(req)
	case err != nil:
		return apierrors.NewBadRequest("read the body of the request: " + err.Error())
	case len(body) > maxBody:
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	req.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(body), req.Body}
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return nil
}

// keptResponse passes a response on and keeps its beginning.
type keptResponse struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (k *keptResponse) Unwrap() http.ResponseWriter { return k.ResponseWriter }

func (k *keptResponse) WriteHeader(status int) {
	k.status = status
	k.ResponseWriter.WriteHeader(status)
}

func (k *keptResponse) Write(p []byte) (int, error) {
	if room := maxKeptResponse - k.body.Len(); room > 0 {
		k.body.Write(p[:min(room, len(p))])
	}
	return k.ResponseWriter.Write(p)
}

func (k *keptResponse) response(req *http.Request) *http.Response {
	return &http.Response{StatusCode: k.status, Header: k.Header(), Body: io.NopCloser(&k.body), Request: req}
}
