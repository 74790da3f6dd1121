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
	"github.com/ctrlplane/ctrlplane/internal/requestkind"
	"github.com/ctrlplane/ctrlplane/observe"
)

// writeBarrier blocks the writes of clients while a restore replaces the state. While
// it is open it costs each write a mutex.
type writeBarrier struct {
	mu       sync.Mutex
	block    *writeBlock   // nil while the barrier is open
	sealed   bool          // closed, and no write is in flight
	inFlight int           // writes that were admitted and have not ended
	drained  chan struct{} // closed when no write is in flight; nil unless close waits
}

// writeBlock is the time from the closing of a barrier until it opens.
type writeBlock struct {
	ended    chan struct{}
	restored bool // final when ended is closed: the writes that waited must be refused
}

// ErrRestored is the reason why a write fails that was blocked: its client has not seen
// the state that was restored.
var ErrRestored = errors.New(observe.RestoredMeanwhile + ": read the object again")

// installWriteBarrier puts a barrier, and the count of writes in namespaces, behind
// authentication, authorization and priority and fairness, so that it does not change
// how unauthorized requests are answered.
func installWriteBarrier(config *server.RecommendedConfig) (*writeBarrier, *namespaceWrites) {
	b, writes := &writeBarrier{}, &namespaceWrites{}
	wrapInside(config, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			info, ok := request.RequestInfoFrom(req.Context())
			if ok && isObjectWrite(info) {
				if err := b.admitWrite(req.Context()); err != nil {
					responsewriters.ErrorNegotiated(refusedWriteError(req.Context(), info, err), legacyscheme.Codecs, schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, w, req)
					return
				}
				defer b.finishWrite()
			}
			if ok && storesInNamespace(info) {
				defer writes.endRequest(req.Context(), writes.begin(info.Namespace))
			}
			h.ServeHTTP(w, req)
		})
	})
	return b, writes
}

var writeVerbs = []string{"create", "update", "patch", "delete", "deletecollection"}

// refusedWriteError is the answer to a write that was blocked and not admitted, for the reason
// err. After a conflict, the API server's own controllers wait for the event of a newer
// object. After a restore there may be none, so they get an error that they retry.
func refusedWriteError(ctx context.Context, info *request.RequestInfo, err error) error {
	switch {
	case !errors.Is(err, ErrRestored): // as upstream answers a write whose context ends
		return apierrors.NewTimeoutError(fmt.Sprintf("write waited for the end of a restore: %v: send it again", err), 0)
	case isAPIServer(ctx):
		return apierrors.NewServiceUnavailable(err.Error())
	}
	return apierrors.NewConflict(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Name, err)
}

// isAPIServer reports whether the API server itself sent the request.
func isAPIServer(ctx context.Context) bool {
	who, ok := request.UserFrom(ctx)
	return ok && who.GetName() == user.APIServerUser
}

// isObjectWrite reports whether a request writes an object that belongs to the state.
func isObjectWrite(info *request.RequestInfo) bool {
	return info.IsResourceRequest && slices.Contains(writeVerbs, info.Verb) &&
		requestkind.ChangesState(info.APIGroup, info.Resource, info.Subresource)
}

// admitWrite returns nil if a write may proceed, which finishWrite has to end. If the barrier
// is closed it waits until it opens, and returns ErrRestored if the state was restored, or
// until the context ends, and returns its cause. While the last writes in flight end, it
// admits the writes that the API server sends on their behalf.
func (b *writeBarrier) admitWrite(ctx context.Context) error {
	own := isAPIServer(ctx)
	for {
		b.mu.Lock()
		if b.block == nil || own && !b.sealed {
			b.inFlight++
			b.mu.Unlock()
			return nil
		}
		block := b.block
		b.mu.Unlock()
		select {
		case <-block.ended:
			if block.restored {
				return ErrRestored
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// finishWrite ends a write that was admitted.
func (b *writeBarrier) finishWrite() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.inFlight--; b.inFlight == 0 && b.drained != nil {
		close(b.drained)
		b.drained, b.sealed = nil, true
	}
}

// close blocks new writes and returns when none is in flight. If the context ends first,
// it opens the barrier again.
func (b *writeBarrier) close(ctx context.Context) error {
	b.mu.Lock()
	if b.block != nil {
		b.mu.Unlock()
		return errors.New("apiserver: writes are already blocked")
	}
	b.block, b.sealed = &writeBlock{ended: make(chan struct{})}, b.inFlight == 0
	if b.sealed {
		b.mu.Unlock()
		return nil
	}
	drained := make(chan struct{})
	b.drained = drained
	b.mu.Unlock()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	inFlight := b.inFlight
	b.mu.Unlock()
	b.open(false)
	noun := "writes are"
	if inFlight == 1 {
		noun = "write is"
	}
	return fmt.Errorf("apiserver: %d %s still in flight: %w: try again later", inFlight, noun, context.Cause(ctx))
}

// open admits writes again. Those that were blocked fail if the state was restored.
func (b *writeBarrier) open(restored bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.block.restored = restored
	close(b.block.ended)
	b.block, b.drained, b.sealed = nil, nil, false
}

// writeDrainTimeout is how long BlockWrites waits for the writes in flight.
const writeDrainTimeout = 5 * time.Second

// BlockWrites blocks the writes of all clients and returns when none is in flight. After
// release, the blocked writes go on; if the state was restored they fail with a conflict, and
// those of the API server itself as unavailable. Reads and watches continue.
func (s *Server) BlockWrites(ctx context.Context) (release func(restored bool), err error) {
	ctx, cancel := context.WithTimeout(ctx, writeDrainTimeout)
	defer cancel()
	if err := s.writeBarrier.close(ctx); err != nil {
		return nil, err
	}
	return s.writeBarrier.open, nil
}

// WaitCaughtUp returns when the API server's own informers have received what was
// written directly to its storage.
func (s *Server) WaitCaughtUp(ctx context.Context, written informersync.Revisions) error {
	if err := informersync.WaitTyped(ctx, s.informers, written, informersync.StallTimeout); err != nil {
		return fmt.Errorf("apiserver: %w", err)
	}
	return nil
}
