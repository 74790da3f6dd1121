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

// The defaults of a kubelet.
const (
	leaseSeconds  = 40
	renewInterval = 10 * time.Second
)

// heartbeats renews the Leases of live nodes.
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

// startRenewing starts renewing the Lease of a node.
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
	// The garbage collector deletes the Lease with its Node.
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

// stopRenewing stops renewing the Lease of a node.
func (h *heartbeats) stopRenewing(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cancel := h.cancels[name]; cancel != nil {
		cancel()
		delete(h.cancels, name)
	}
}

// wait returns when no Lease is being renewed. Call it after the context has ended.
func (h *heartbeats) wait() { h.wg.Wait() }
