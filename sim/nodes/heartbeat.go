package nodes

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/ctrlplane/ctrlplane/observe"
)

// minLeaseDuration is the default of a kubelet.
const minLeaseDuration = 40 * time.Second

// defaultMonitorGracePeriod is that of upstream's node-lifecycle-controller.
const defaultMonitorGracePeriod = 50 * time.Second

// renewInterval returns how often Leases are renewed: so that a renewal that fails can be
// tried again several times before a node is no longer Ready. By default it is three times
// that of a kubelet: in the same process a renewal is hardly ever late, and renewing is most
// of what idle nodes cost.
func renewInterval(monitorGracePeriod time.Duration) time.Duration {
	return cmp.Or(monitorGracePeriod, defaultMonitorGracePeriod) * 3 / 5
}

// leaseDuration returns the duration in a Lease that is renewed that often.
func leaseDuration(interval time.Duration) time.Duration {
	return max(interval*4/3, minLeaseDuration).Round(time.Second)
}

const (
	// leaseWorkers is the number of Leases that are renewed at the same time.
	leaseWorkers = 4
	// maxRenewBatch is how much earlier than necessary a Lease is renewed at most, together
	// with others: etcd writes and reports together what arrives together.
	maxRenewBatch = time.Second
	// The delays between attempts to renew a Lease. The longest is that of a kubelet.
	minRenewDelay, maxRenewDelay = time.Second, 7 * time.Second
)

// heartbeats renews the Leases of live nodes. Upstream's controller of a Lease, which
// kubelets use, would be a goroutine for each of them.
type heartbeats struct {
	client   coordinationclient.LeaseInterface
	interval time.Duration
	player   *player             // of the names of nodes
	failures *observe.KeyedQueue // of Leases, whose renewals are recorded only if they fail

	mu     sync.Mutex
	leases map[string]*nodeLease // of live nodes, by name
	wg     sync.WaitGroup
}

// nodeLease is the Lease of a live node.
type nodeLease struct {
	owner metav1.OwnerReference
	due   time.Time
	last  *coordinationv1.Lease // as it was written last; nil = unknown
	fails bool                  // the last attempt has failed
}

func newHeartbeats(ctx context.Context, client kubernetes.Interface, interval time.Duration, failures *observe.KeyedQueue, failed func(node string, err error)) *heartbeats {
	h := &heartbeats{
		failures: failures,
		client:   client.CoordinationV1().Leases(corev1.NamespaceNodeLease),
		interval: interval,
		leases:   map[string]*nodeLease{},
	}
	h.player = newPlayer(time.Now, minRenewDelay, maxRenewDelay, h.renewDue, failed)
	for range leaseWorkers {
		h.wg.Go(func() { h.player.run(ctx) })
	}
	return h
}

// startRenewing starts renewing the Lease of a node.
func (h *heartbeats) startRenewing(node *corev1.Node) {
	now := time.Now()
	h.mu.Lock()
	h.leases[node.Name] = &nodeLease{due: now, owner: metav1.OwnerReference{
		APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Node",
		Name: node.Name, UID: node.UID,
	}}
	h.mu.Unlock()
	h.player.schedule(node.Name, now)
}

// stopRenewing stops renewing the Lease of a node.
func (h *heartbeats) stopRenewing(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.leases, name)
	h.failures.Forget(leaseKey(name))
}

// stop returns when no Lease is being renewed. Call it after the context has ended.
func (h *heartbeats) stop() {
	h.player.queue.ShutDown()
	h.wg.Wait()
}

// renewDue renews the Lease of a node unless it is too early, and returns when it is due next.
func (h *heartbeats) renewDue(ctx context.Context, node string) (time.Time, error) {
	h.mu.Lock()
	l := h.leases[node]
	h.mu.Unlock()
	if l == nil {
		return time.Time{}, nil
	}
	if time.Now().Before(l.due) {
		return l.due, nil
	}
	first := l.last == nil
	err := h.renew(ctx, node, l)
	if ctx.Err() == nil {
		h.recordOutcome(node, l, err)
	}
	if err != nil {
		l.last = nil
		if apierrors.IsNotFound(err) { // deleted meanwhile: the player would not try that again
			err = apierrors.NewServiceUnavailable(err.Error())
		}
		return time.Time{}, fmt.Errorf("renew the lease of node %s: %w", node, err)
	}
	l.due = h.nextDue(time.Now(), first)
	return l.due, nil
}

// recordOutcome records an attempt that has failed, and the first that has succeeded since.
func (h *heartbeats) recordOutcome(node string, l *nodeLease, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.leases[node] != l: // it is not renewed any more
	case err != nil:
		l.fails = true
		h.failures.Begin(leaseKey(node), nil).End(err.Error())
	case l.fails:
		l.fails = false
		h.failures.Begin(leaseKey(node), nil).End("")
	}
}

func leaseKey(node string) string { return corev1.NamespaceNodeLease + "/" + node }

// nextDue returns when a Lease that was renewed now is due next. The Leases of nodes that were
// created together become due one after the other.
func (h *heartbeats) nextDue(now time.Time, first bool) time.Time {
	interval := h.interval
	if first {
		interval = interval/3 + rand.N(interval*2/3)
	}
	due := now.Add(interval)
	// Truncate would drop the monotonic clock: with a clock that is set back nodes would die.
	return due.Add(-time.Duration(due.UnixNano()) % min(maxRenewBatch, interval/10))
}

// renew writes a Lease. If it has changed or does not exist, it is read or created first.
func (h *heartbeats) renew(ctx context.Context, node string, l *nodeLease) (err error) {
	if l.last != nil {
		if l.last, err = h.update(ctx, l); !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err
		}
	}
	l.last, err = h.client.Get(ctx, node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return h.create(ctx, node, l)
	}
	if err == nil {
		l.last, err = h.update(ctx, l)
	}
	return err
}

func (h *heartbeats) update(ctx context.Context, l *nodeLease) (*coordinationv1.Lease, error) {
	lease := l.last.DeepCopy()
	lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds = new(metav1.NowMicro()), h.leaseSeconds()
	l.own(lease)
	return h.client.Update(ctx, lease, metav1.UpdateOptions{})
}

func (h *heartbeats) create(ctx context.Context, node string, l *nodeLease) (err error) {
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: node, Namespace: corev1.NamespaceNodeLease},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new(node), LeaseDurationSeconds: h.leaseSeconds(), RenewTime: new(metav1.NowMicro()),
		},
	}
	l.own(lease)
	l.last, err = h.client.Create(ctx, lease, metav1.CreateOptions{})
	return err
}

func (h *heartbeats) leaseSeconds() *int32 {
	return new(int32(leaseDuration(h.interval) / time.Second))
}

// own makes the garbage collector delete a Lease with its Node.
func (l *nodeLease) own(lease *coordinationv1.Lease) {
	if len(lease.OwnerReferences) == 0 {
		lease.OwnerReferences = []metav1.OwnerReference{l.owner}
	}
}
