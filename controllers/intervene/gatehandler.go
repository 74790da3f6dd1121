package intervene

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
)

// maxKeptResponse is how much is kept of the response to a held write, to show the object
// after it.
const maxKeptResponse = 4 << 20

// Handle passes a request through the gate and on to next. It does on the side of the
// server what InterceptCalls does in a client. A request whose client has gone is not
// answered.
func (g *Gate) Handle(w http.ResponseWriter, req *http.Request, next http.Handler) {
	if g.applyDelay(req.Context()) != nil {
		return
	}
	if !canBeHeld(req) || isStream(req) {
		g.handleOrFail(w, req, next)
		return
	}
	if err := g.prepareHold(req); err != nil {
		return
	}
	h, err := g.admitWrite(req)
	switch {
	case req.Context().Err() != nil && err != nil:
		return
	case err != nil:
		resp := newStatusResponse(req, apierrors.NewServiceUnavailable(err.Error()).Status())
		defer resp.Body.Close()
		writeResponse(w, resp)
		return
	case h == nil:
		defer g.finishWrite(nil, nil, nil)
		g.handleOrFail(w, req, next)
		return
	}
	g.handleHeld(w, req, h, next)
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
	read := req.Clone(req.Context()) // of the URL only: the host is that of the reader's transport
	read.URL.Scheme, read.URL.Host = "http", "ctrlplane.invalid"
	if h.byStep {
		h.change = g.objects.readBefore(read, h.call)
	}
	g.handleOrFail(responsewriter.WrapForHTTP1Or2(kept), req, next)
	resp := kept.response(req)
	defer resp.Body.Close()
	if h.byStep && resp.StatusCode < http.StatusBadRequest {
		h.change = g.objects.readAfter(read, h.call, resp, h.change)
	}
	answered = true
	g.finishWrite(h, resp, nil)
}

// handleOrFail handles a request, or answers with an injected error.
func (g *Gate) handleOrFail(w http.ResponseWriter, req *http.Request, next http.Handler) {
	if resp := g.injectFault(req); resp != nil {
		defer resp.Body.Close()
		writeResponse(w, resp)
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

// prepareHold lets a held write be shown: it reads the beginning of the body, which a
// server can read only once. It does nothing while the gate is open.
func (g *Gate) prepareHold(req *http.Request) error {
	g.mu.Lock()
	paused := g.paused
	g.mu.Unlock()
	if !paused || req.Body == nil {
		return nil
	}
	begin, err := io.ReadAll(io.LimitReader(req.Body, maxShownBody+1))
	if err != nil {
		return err
	}
	req.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begin), req.Body), req.Body}
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(begin)), nil }
	return nil
}

// isStream reports whether a request opens a stream to a Pod or a Service: that writes
// no object, and lasts.
func isStream(req *http.Request) bool {
	for _, stream := range []string{"exec", "attach", "portforward", "proxy"} {
		if strings.Contains(req.URL.Path, "/"+stream) && recording.DescribeRequest(req).Subresource == stream {
			return true
		}
	}
	return false
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
