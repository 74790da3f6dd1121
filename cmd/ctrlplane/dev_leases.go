package main

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"
)

// devLeases are the Leases that runs of the operator leave behind. Snapshots have no
// Leases, and with that of a stopped leader the next run would wait until it expires.
type devLeases struct {
	client    coordinationclient.LeasesGetter
	elections bool                 // those of leader elections only: all other objects are kept, too
	before    map[types.UID]string // the runs: their holders
}

func (l *devLeases) list(ctx context.Context) ([]coordinationv1.Lease, error) {
	all, err := l.client.Leases(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return all.Items, nil
}

// begin notes the Leases from before the first run that have not expired.
func (l *devLeases) begin(ctx context.Context) error {
	all, err := l.list(ctx)
	l.before = map[types.UID]string{}
	for _, lease := range all {
		if !isExpired(&lease.Spec, time.Now()) {
			l.before[lease.UID] = ptr.Deref(lease.Spec.HolderIdentity, "")
		}
	}
	return err
}

// isExpired reports whether the holder of a lease has ended, as that of an earlier dev.
func isExpired(lease *coordinationv1.LeaseSpec, now time.Time) bool {
	if lease.RenewTime == nil || lease.LeaseDurationSeconds == nil {
		return false
	}
	return lease.RenewTime.Add(time.Duration(*lease.LeaseDurationSeconds) * time.Second).Before(now)
}

// isElection reports whether a lease is probably that of a leader election: those of other kinds, such as heartbeats and
// what an operator keeps in Leases, lack some of these fields.
func isElection(lease *coordinationv1.LeaseSpec) bool {
	return lease.AcquireTime != nil && lease.RenewTime != nil && lease.LeaseDurationSeconds != nil
}

// deleteTaken deletes the Leases that were created or taken over since, without those of
// Kubernetes. In a control plane that is kept, an earlier dev may have left that of the operator.
// One that is only renewed is of another program, or of a leader that does not have to wait.
func (l *devLeases) deleteTaken(ctx context.Context) error {
	all, err := l.list(ctx)
	if err != nil {
		return err
	}
	for _, lease := range all {
		holder, had := l.before[lease.UID]
		if had && holder == ptr.Deref(lease.Spec.HolderIdentity, "") || lease.Namespace == metav1.NamespaceSystem || lease.Namespace == corev1.NamespaceNodeLease {
			continue
		}
		if l.elections && !isElection(&lease.Spec) {
			continue
		}
		err := l.client.Leases(lease.Namespace).Delete(ctx, lease.Name, *metav1.NewPreconditionDeleteOptions(string(lease.UID)))
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}
