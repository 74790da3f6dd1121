package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/ctrlplane/ctrlplane/internal/informersync"
)

// writeBarrier lies between clients and the objects, and is open as a rule: then it
// costs a lock a write. While it is closed the state below may be replaced.
type writeBarrier struct {
	mu       sync.Mutex
	opened   chan struct{} // closed when the fence opens; nil while it is open
	sealed   bool          // nothing is on its way any more
	inFlight int           // writes on their way
	drained  chan struct{} // closed when none is; nil unless somebody waits
}

// errRestored is why a write fails that has waited at the fence: whoever sent it
// has not seen the state as it is now.
var errRestored = errors.New("the control plane was put back to another state while this write waited: read the object again")

// installWriteBarrier puts a fence behind authentication, authorization and admission to
// the queue: who may not write gets no further than without it.
func installWriteBarrier(config *server.RecommendedConfig) *writeBarrier {
	f := &writeBarrier{}
	build := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(h http.Handler, cfg *server.Config) http.Handler {
		return build(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			info, ok := request.RequestInfoFrom(req.Context())
			if !ok || !isObjectWrite(info) {
				h.ServeHTTP(w, req)
				return
			}
			if !f.admit(req.Context()) {
				responsewriters.ErrorNegotiated(refusedWriteError(req.Context(), info), legacyscheme.Codecs, schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, w, req)
				return
			}
			defer f.finishWrite()
			h.ServeHTTP(w, req)
		}), cfg)
	}
	return f
}

var (
	writeVerbs = []string{"create", "update", "patch", "delete", "deletecollection"}
	// reviewGroups are groups with nothing but questions, streams subresources that
	// are no writes and may last for hours.
	reviewGroups       = []string{"authentication.k8s.io", "authorization.k8s.io"}
	streamSubresources = []string{"exec", "attach", "portforward", "proxy", "log", "token"}
)

// refusedWriteError is the answer to a write that has waited. The API server's own controllers
// would take a conflict for the word that they will be told of a newer object, but that
// is the one that they have seen already: they have to try again.
func refusedWriteError(ctx context.Context, info *request.RequestInfo) error {
	if isAPIServer(ctx) {
		return apierrors.NewServiceUnavailable(errRestored.Error())
	}
	return apierrors.NewConflict(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Name, errRestored)
}

// isAPIServer says whether the API server calls.
func isAPIServer(ctx context.Context) bool {
	who, ok := request.UserFrom(ctx)
	return ok && who.GetName() == user.APIServerUser
}

// isObjectWrite says whether a request is one that writes an object of the state.
// Leases are none: see snapshot.Transient.
func isObjectWrite(info *request.RequestInfo) bool {
	return info.IsResourceRequest && slices.Contains(writeVerbs, info.Verb) &&
		!slices.Contains(reviewGroups, info.APIGroup) && !slices.Contains(streamSubresources, info.Subresource) &&
		!(info.APIGroup == "coordination.k8s.io" && info.Resource == "leases")
}

// admit lets a write pass; false if it had to wait, and must not be carried out.
// While earlier writes end, those pass that the API server makes for them.
func (f *writeBarrier) admit(ctx context.Context) bool {
	own := isAPIServer(ctx)
	f.mu.Lock()
	if f.opened == nil || own && !f.sealed {
		f.inFlight++
		f.mu.Unlock()
		return true
	}
	lifted := f.opened
	f.mu.Unlock()
	select {
	case <-lifted:
	case <-ctx.Done():
	}
	return false
}

func (f *writeBarrier) finishWrite() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.inFlight--; f.inFlight == 0 && f.drained != nil {
		close(f.drained)
		f.drained, f.sealed = nil, true
	}
}

// close holds further writes, and returns when none is on its way any more; if
// that takes longer than ctx the fence is open again.
func (f *writeBarrier) close(ctx context.Context) error {
	f.mu.Lock()
	if f.opened != nil {
		f.mu.Unlock()
		return errors.New("apiserver: writes are held already")
	}
	f.opened, f.sealed = make(chan struct{}), f.inFlight == 0
	if f.sealed {
		f.mu.Unlock()
		return nil
	}
	landed := make(chan struct{})
	f.drained = landed
	f.mu.Unlock()
	select {
	case <-landed:
		return nil
	case <-ctx.Done():
	}
	f.mu.Lock()
	flying := f.inFlight
	f.mu.Unlock()
	f.open()
	return fmt.Errorf("apiserver: %d writes are still on their way: try again when they have ended: %w", flying, context.Cause(ctx))
}

// open lets writes pass again. Those that waited fail.
func (f *writeBarrier) open() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.opened)
	f.opened, f.drained, f.sealed = nil, nil, false
}

// writeDrainTimeout is how long writes that are on their way may take.
const writeDrainTimeout = 5 * time.Second

// HoldWrites makes writes of objects wait, of all clients, and returns when none
// is on its way any more. What has waited fails when it is released, with a conflict
// or, if it was the API server's own, as unavailable. Reads and watches go on.
func (s *Server) HoldWrites(ctx context.Context) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, writeDrainTimeout)
	defer cancel()
	if err := s.writeBarrier.close(ctx); err != nil {
		return nil, err
	}
	return s.writeBarrier.open, nil
}

// WaitCaughtUp returns when the API server's own informers have seen what was
// written below it.
func (s *Server) WaitCaughtUp(ctx context.Context, written informersync.Revisions) error {
	if err := informersync.WaitTyped(ctx, s.informers, written); err != nil {
		return fmt.Errorf("apiserver: %w", err)
	}
	return nil
}
