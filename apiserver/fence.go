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

// fence lies between clients and the objects, and is open as a rule: then it
// costs a lock a write. While it is closed the state below may be replaced.
type fence struct {
	mu     sync.Mutex
	lifted chan struct{} // closed when the fence opens; nil while it is open
	shut   bool          // nothing is on its way any more
	flying int           // writes on their way
	landed chan struct{} // closed when none is; nil unless somebody waits
}

// errPutBack is why a write fails that has waited at the fence: whoever sent it
// has not seen the state as it is now.
var errPutBack = errors.New("the control plane was put back to another state while this write waited: read the object again")

// buildFence puts a fence behind authentication, authorization and admission to
// the queue: who may not write gets no further than without it.
func buildFence(config *server.RecommendedConfig) *fence {
	f := &fence{}
	build := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(h http.Handler, cfg *server.Config) http.Handler {
		return build(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			info, ok := request.RequestInfoFrom(req.Context())
			if !ok || !changes(info) {
				h.ServeHTTP(w, req)
				return
			}
			if !f.enter(req.Context()) {
				responsewriters.ErrorNegotiated(refused(req.Context(), info), legacyscheme.Codecs, schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, w, req)
				return
			}
			defer f.leave()
			h.ServeHTTP(w, req)
		}), cfg)
	}
	return f
}

var (
	writeVerbs = []string{"create", "update", "patch", "delete", "deletecollection"}
	// noObjects are groups with nothing but questions, streams subresources that
	// are no writes and may last for hours.
	noObjects = []string{"authentication.k8s.io", "authorization.k8s.io"}
	streams   = []string{"exec", "attach", "portforward", "proxy", "log", "token"}
)

// refused is the answer to a write that has waited. The API server's own controllers
// would take a conflict for the word that they will be told of a newer object, but that
// is the one that they have seen already: they have to try again.
func refused(ctx context.Context, info *request.RequestInfo) error {
	if itself(ctx) {
		return apierrors.NewServiceUnavailable(errPutBack.Error())
	}
	return apierrors.NewConflict(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Name, errPutBack)
}

// itself says whether the API server calls.
func itself(ctx context.Context) bool {
	who, ok := request.UserFrom(ctx)
	return ok && who.GetName() == user.APIServerUser
}

// changes says whether a request is one that writes an object of the state.
// Leases are none: see snapshot.Transient.
func changes(info *request.RequestInfo) bool {
	return info.IsResourceRequest && slices.Contains(writeVerbs, info.Verb) &&
		!slices.Contains(noObjects, info.APIGroup) && !slices.Contains(streams, info.Subresource) &&
		!(info.APIGroup == "coordination.k8s.io" && info.Resource == "leases")
}

// enter lets a write pass; false if it had to wait, and must not be carried out.
// While earlier writes end, those pass that the API server makes for them.
func (f *fence) enter(ctx context.Context) bool {
	own := itself(ctx)
	f.mu.Lock()
	if f.lifted == nil || own && !f.shut {
		f.flying++
		f.mu.Unlock()
		return true
	}
	lifted := f.lifted
	f.mu.Unlock()
	select {
	case <-lifted:
	case <-ctx.Done():
	}
	return false
}

func (f *fence) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.flying--; f.flying == 0 && f.landed != nil {
		close(f.landed)
		f.landed, f.shut = nil, true
	}
}

// close holds further writes, and returns when none is on its way any more; if
// that takes longer than ctx the fence is open again.
func (f *fence) close(ctx context.Context) error {
	f.mu.Lock()
	if f.lifted != nil {
		f.mu.Unlock()
		return errors.New("apiserver: writes are held already")
	}
	f.lifted, f.shut = make(chan struct{}), f.flying == 0
	if f.shut {
		f.mu.Unlock()
		return nil
	}
	landed := make(chan struct{})
	f.landed = landed
	f.mu.Unlock()
	select {
	case <-landed:
		return nil
	case <-ctx.Done():
	}
	f.mu.Lock()
	flying := f.flying
	f.mu.Unlock()
	f.open()
	return fmt.Errorf("apiserver: %d writes are still on their way: try again when they have ended: %w", flying, context.Cause(ctx))
}

// open lets writes pass again. Those that waited fail.
func (f *fence) open() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.lifted)
	f.lifted, f.landed, f.shut = nil, nil, false
}

// drainWrites is how long writes that are on their way may take.
const drainWrites = 5 * time.Second

// HoldWrites makes writes of objects wait, of all clients, and returns when none
// is on its way any more. What has waited fails when it is released, with a conflict
// or, if it was the API server's own, as unavailable. Reads and watches go on.
func (s *Server) HoldWrites(ctx context.Context) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, drainWrites)
	defer cancel()
	if err := s.fence.close(ctx); err != nil {
		return nil, err
	}
	return s.fence.open, nil
}

// WaitCaughtUp returns when the API server's own informers have seen what was
// written below it.
func (s *Server) WaitCaughtUp(ctx context.Context, written informersync.Revisions) error {
	if err := informersync.Typed(ctx, s.informers, written); err != nil {
		return fmt.Errorf("apiserver: %w", err)
	}
	return nil
}
