package nodes

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/utils/clock"
)

// As a kubelet's defaults.
const (
	leaseSeconds  = 40
	renewInterval = 10 * time.Second
)

// heartbeats renews the leases of the nodes that are alive.
type heartbeats struct {
	ctx    context.Context
	client kubernetes.Interface

	mu   sync.Mutex
	stop map[string]context.CancelFunc
	wg   sync.WaitGroup
}

func newHeartbeats(ctx context.Context, client kubernetes.Interface) *heartbeats {
	return &heartbeats{ctx: ctx, client: client, stop: map[string]context.CancelFunc{}}
}

// start begins to renew the lease of a node.
func (h *heartbeats) start(node *corev1.Node) {
	h.end(node.Name)
	ctx, cancel := context.WithCancel(h.ctx)
	h.mu.Lock()
	h.stop[node.Name] = cancel
	h.mu.Unlock()
	owner := metav1.OwnerReference{
		APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Node",
		Name: node.Name, UID: node.UID,
	}
	// As a kubelet does: the lease goes with its node.
	own := func(lease *coordinationv1.Lease) error {
		if len(lease.OwnerReferences) == 0 {
			lease.OwnerReferences = []metav1.OwnerReference{owner}
		}
		return nil
	}
	c := lease.NewController(clock.RealClock{}, h.client, node.Name, leaseSeconds, nil,
		renewInterval, node.Name, corev1.NamespaceNodeLease, own)
	h.wg.Go(func() { c.Run(ctx) })
}

// end stops it.
func (h *heartbeats) end(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cancel := h.stop[name]; cancel != nil {
		cancel()
		delete(h.stop, name)
	}
}

// wait returns when none is renewed any more, after the context has ended.
func (h *heartbeats) wait() { h.wg.Wait() }
