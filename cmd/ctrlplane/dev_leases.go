package main

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// devLeases are the Leases that runs of the operator leave behind. Snapshots have no
// Leases, and with that of a stopped leader the next run would wait until it expires.
type devLeases struct {
	client coordinationclient.LeasesGetter
	before map[types.UID]bool // the runs
}

func (l *devLeases) list(ctx context.Context) ([]coordinationv1.Lease, error) {
	all, err := l.client.Leases(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return all.Items, nil
}

// begin notes the Leases from before the first run.
func (l *devLeases) begin(ctx context.Context) error {
	all, err := l.list(ctx)
	l.before = map[types.UID]bool{}
	for _, lease := range all {
		l.before[lease.UID] = true
	}
	return err
}

// deleteNew deletes the Leases that were created since, without those of Kubernetes.
func (l *devLeases) deleteNew(ctx context.Context) error {
	all, err := l.list(ctx)
	if err != nil {
		return err
	}
	for _, lease := range all {
		if l.before[lease.UID] || lease.Namespace == metav1.NamespaceSystem || lease.Namespace == corev1.NamespaceNodeLease {
			continue
		}
		err := l.client.Leases(lease.Namespace).Delete(ctx, lease.Name, *metav1.NewPreconditionDeleteOptions(string(lease.UID)))
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}
