package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/requestkind"
)

// devLocks are the locks of leader elections in ConfigMaps and Endpoints that runs of the operator leave behind: those that --keep
// keeps, and those that a restored state has. The objects may be used for more: only their annotation is removed.
type devLocks struct {
	client metadata.Interface
	before map[types.UID]string // the runs: their holders
}

// electionLock is a lock that has a holder.
type electionLock struct {
	object metav1.PartialObjectMetadata
	in     string // its resource
	record electionRecord
}

// electionRecord is the value of the annotation.
type electionRecord struct {
	HolderIdentity       string
	LeaseDurationSeconds any    // a text in Python
	RenewTime            string // Python's has no time zone
}

func newDevLocks(cfg *rest.Config) (l devLocks, err error) {
	cfg = rest.CopyConfig(cfg)
	cfg.WarningHandler = rest.NoWarnings{} // Endpoints are deprecated
	l.client, err = metadata.NewForConfig(cfg)
	return l, err
}

func (l *devLocks) list(ctx context.Context) (locks []electionLock, err error) {
	for _, resource := range []string{"configmaps", "endpoints"} {
		all, err := l.client.Resource(corev1.SchemeGroupVersion.WithResource(resource)).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for _, o := range all.Items {
			lock := electionLock{object: o, in: resource}
			isLock := json.Unmarshal([]byte(o.Annotations[requestkind.LeaderAnnotation]), &lock.record) == nil && lock.record.HolderIdentity != ""
			if isLock && o.Namespace != metav1.NamespaceSystem {
				locks = append(locks, lock)
			}
		}
	}
	return locks, nil
}

// begin notes the locks from before the first run that have not expired.
func (l *devLocks) begin(ctx context.Context) error {
	locks, err := l.list(ctx)
	l.before = map[types.UID]string{}
	for _, lock := range locks {
		if !lock.record.isExpired(time.Now()) {
			l.before[lock.object.UID] = lock.record.HolderIdentity
		}
	}
	return err
}

func (r electionRecord) isExpired(now time.Time) bool {
	seconds, err := strconv.Atoi(fmt.Sprint(r.LeaseDurationSeconds))
	if err != nil {
		return false
	}
	renewed, err := time.Parse(time.RFC3339, r.RenewTime)
	if err != nil {
		renewed, err = time.ParseInLocation("2006-01-02 15:04:05", r.RenewTime, time.Local)
	}
	return err == nil && renewed.Add(time.Duration(seconds)*time.Second).Before(now)
}

// releaseTaken releases the locks that were taken since, by whomever, so that a new leader does not wait for the stopped one.
func (l *devLocks) releaseTaken(ctx context.Context) error {
	locks, err := l.list(ctx)
	if err != nil {
		return err
	}
	var errs []error
	locks = slices.DeleteFunc(locks, func(lock electionLock) bool { return l.before[lock.object.UID] == lock.record.HolderIdentity })
	for _, lock := range locks {
		patch := fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q,"annotations":{%q:null}}}`, lock.object.ResourceVersion, requestkind.LeaderAnnotation)
		objects := l.client.Resource(corev1.SchemeGroupVersion.WithResource(lock.in)).Namespace(lock.object.Namespace)
		_, err := objects.Patch(ctx, lock.object.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			errs = append(errs, fmt.Errorf("%s %s/%s: %w", lock.in, lock.object.Namespace, lock.object.Name, err))
		}
	}
	return errors.Join(errs...)
}
