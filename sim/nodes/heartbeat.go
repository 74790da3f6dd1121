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

	mu      sync.Mutex
	cancels map[string]context.CancelFunc
	wg      sync.WaitGroup
}

func newHeartbeats(ctx context.Context, client kubernetes.Interface) *heartbeats {
	return &heartbeats{ctx: ctx, client: client, cancels: map[string]context.CancelFunc{}}
}

// startRenewing begins to renew the lease of a node.
func (h *heartbeats) startRenewing(node *corev1.Node) {
	h.stopRenewing(node.Name)
	ctx, cancel := context.WithCancel(h.ctx)
	h.mu.Lock()
	h.cancels[node.Name] = cancel
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

// stopRenewing stops it.
func (h *heartbeats) stopRenewing(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cancel := h.cancels[name]; cancel != nil {
		cancel()
		delete(h.cancels, name)
	}
}

// wait returns when none is renewed any more, after the context has ended.
func (h *heartbeats) wait() { h.wg.Wait() }
