package nodes

import (
	"cmp"
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

// leaseSeconds is the default of a kubelet.
const leaseSeconds = 40

// maxRenewInterval is twice the default of a kubelet. In the same process a renewal is
// hardly ever late, and renewing is most of what idle nodes cost.
const maxRenewInterval = 20 * time.Second

// defaultMonitorGracePeriod is that of upstream's node-lifecycle-controller.
const defaultMonitorGracePeriod = 50 * time.Second

// renewInterval returns how often Leases are renewed: so that a node stays Ready when one
// renewal fails.
func renewInterval(monitorGracePeriod time.Duration) time.Duration {
	return min(cmp.Or(monitorGracePeriod, defaultMonitorGracePeriod)*2/5, maxRenewInterval)
}

// heartbeats renews the Leases of live nodes.
type heartbeats struct {
	ctx      context.Context
	client   kubernetes.Interface
	interval time.Duration

	mu      sync.Mutex
	cancels map[string]context.CancelFunc
	wg      sync.WaitGroup
}

func newHeartbeats(ctx context.Context, client kubernetes.Interface, interval time.Duration) *heartbeats {
	return &heartbeats{ctx: ctx, client: client, interval: interval, cancels: map[string]context.CancelFunc{}}
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
		h.interval, node.Name, corev1.NamespaceNodeLease, own)
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
