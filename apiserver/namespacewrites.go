package apiserver

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/endpoints/request"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/ctrlplane/ctrlplane/internal/requestkind"
)

// namespaceWrites keeps the writes in flight that may store an object in a namespace.
type namespaceWrites struct {
	mu       sync.Mutex
	inFlight map[*namespaceWrite]struct{}
}

// upstreamNamespaceGrace is how long upstream's namespace controller waits for writes
// in flight. It applies to those of which the end is not known.
const upstreamNamespaceGrace = 5 * time.Second

// namespaceWrite is one write in flight.
type namespaceWrite struct {
	namespace string
	timer     *time.Timer       // that ends it; nil until endAfter
	drains    []*namespaceDrain // that wait for it; usually none
}

// namespaceDrain waits for the writes that were in flight at one time.
type namespaceDrain struct {
	left int
	done chan struct{} // closed when none is left
}

// storesInNamespace reports whether a request may store an object in a namespace.
func storesInNamespace(info *request.RequestInfo) bool {
	return info.IsResourceRequest && info.Namespace != "" && slices.Contains([]string{"create", "update", "patch"}, info.Verb) &&
		!(info.APIGroup == corev1.GroupName && info.Resource == "namespaces") &&
		requestkind.StoresObject(info.APIGroup, info.Resource, info.Subresource)
}

// begin adds a write; end removes it.
func (n *namespaceWrites) begin(namespace string) *namespaceWrite {
	w := &namespaceWrite{namespace: namespace}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.inFlight == nil {
		n.inFlight = map[*namespaceWrite]struct{}{}
	}
	n.inFlight[w] = struct{}{}
	return w
}

func (n *namespaceWrites) end(w *namespaceWrite) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.inFlight, w)
	for _, d := range w.drains {
		if d.left--; d.left == 0 {
			close(d.done)
		}
	}
}

// endRequest removes the write of a request, of which the handler has returned.
// Upstream may have left the work of a canceled request to another goroutine, which may
// still store the object.
func (n *namespaceWrites) endRequest(ctx context.Context, w *namespaceWrite) {
	if ctx.Err() != nil {
		n.endAfterGrace(w)
		return
	}
	n.end(w)
}

// endAfterGrace removes a write of which the end is not known.
func (n *namespaceWrites) endAfterGrace(w *namespaceWrite) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w.timer = time.AfterFunc(upstreamNamespaceGrace, func() { n.end(w) })
}

// stop ends the timers. Writes that they would have ended stay in flight.
func (n *namespaceWrites) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for w := range n.inFlight {
		if w.timer != nil {
			w.timer.Stop()
		}
	}
}

// drain returns a channel that is closed when the writes have ended that are in flight
// in a namespace now.
func (n *namespaceWrites) drain(namespace string) <-chan struct{} {
	d := &namespaceDrain{done: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	for w := range n.inFlight {
		if w.namespace == namespace {
			w.drains = append(w.drains, d)
			d.left++
		}
	}
	if d.left == 0 {
		close(d.done)
	}
	return d.done
}

// DrainNamespace returns a channel that is closed when the writes have ended that were
// admitted before a namespace was deleted, and that may store objects in it. It returns
// nil while the deletion has not reached the cache that admission reads: until then
// such writes are still admitted.
func (s *Server) DrainNamespace(name string) <-chan struct{} {
	ns, err := s.informers.Core().V1().Namespaces().Lister().Get(name)
	if err == nil && ns.DeletionTimestamp == nil {
		return nil
	}
	if s.hasAggregatedServers() {
		s.namespaceWrites.endAfterGrace(s.namespaceWrites.begin(name))
	}
	// A namespace that is not in the cache is read from the storage by admission.
	return s.namespaceWrites.drain(name)
}

// hasAggregatedServers reports whether other API servers serve some of the groups. They
// may admit writes in a namespace that is being deleted until they have observed it.
func (s *Server) hasAggregatedServers() bool {
	all, err := s.apiServices.List(labels.Everything())
	return err != nil || slices.ContainsFunc(all, func(a *apiregistrationv1.APIService) bool { return a.Spec.Service != nil })
}
