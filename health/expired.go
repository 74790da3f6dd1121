package health

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
	"github.com/ctrlplane/ctrlplane/observe"
)

// hasExpired reports whether an object is a Job that has finished, and whose time to live has ended at a time.
func hasExpired(u *unstructured.Unstructured, at time.Time) bool {
	var job batchv1.Job
	if kindOf(u) != jobKind || convertObject(u, &job) != nil || job.Spec.TTLSecondsAfterFinished == nil {
		return false
	}
	end, ttl := jobEnd(&job), time.Duration(*job.Spec.TTLSecondsAfterFinished)*time.Second
	return end.Type != "" && !at.Before(end.LastTransitionTime.Add(ttl))
}

// minLogTime is how long a log has to be there for users to read it.
const minLogTime = 5 * time.Second

// noteExpiry says of a Job that has failed that its time to live deletes its Pods, with their logs, instead of naming a log that
// its user would not find, unless the Job exists although that time has ended before: its controller does not run.
func (u *Unhealthy) noteExpiry(job *unstructured.Unstructured, exists bool) {
	if job == nil || u.Status != Failed || !hasExpired(job, time.Now().Add(minLogTime)) || exists && isOverdue(job) {
		return
	}
	u.Log = nil
	u.Reason += fmt.Sprintf("; its Pods are deleted, with their logs, by %s (ttlSecondsAfterFinished)", controllernames.TTLAfterFinished)
}

// isOverdue reports whether a Job was to be deleted before, and nothing has done that.
func isOverdue(job *unstructured.Unstructured) bool {
	return job.GetDeletionTimestamp() == nil && hasExpired(job, time.Now().Add(-minLogTime))
}

// beforeExpiry returns a Job that its time to live has deleted as it was before, and other objects as they are, also a Job
// that waits for another finalizer than those of the garbage collector.
func beforeExpiry(u *unstructured.Unstructured) *unstructured.Unstructured {
	at := u.GetDeletionTimestamp()
	isOther := func(finalizer string) bool {
		return finalizer != metav1.FinalizerDeleteDependents && finalizer != metav1.FinalizerOrphanDependents
	}
	if at == nil || !hasExpired(u, at.Time) || slices.ContainsFunc(u.GetFinalizers(), isOther) {
		return u
	}
	return withoutDeletion(u)
}

func withoutDeletion(u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	u.SetDeletionTimestamp(nil)
	return u
}

// lastVersion returns the first of versions of an object that no longer exists which says how it ended: it is a Job whose time
// to live has ended. It returns nil if there is none.
func lastVersion(versions ...*unstructured.Unstructured) *unstructured.Unstructured {
	for _, u := range versions {
		if u == nil {
			continue
		}
		at := time.Now()
		if deleted := u.GetDeletionTimestamp(); deleted != nil {
			at = deleted.Time
		}
		if hasExpired(u, at) {
			return withoutDeletion(u)
		}
	}
	return nil
}

// Expired is a Job that was deleted because its time to live had ended.
type Expired struct{ Namespace, Name, version string }

var jobResource = batchv1.SchemeGroupVersion.WithResource("jobs")

// ExpiredBy returns the Job that a call has deleted because its time to live had ended.
func ExpiredBy(c *observe.Called) (e Expired, ok bool) {
	if c.Controller != controllernames.TTLAfterFinished || c.Client != nil || c.Verb != "delete" || c.Failed() {
		return e, false
	}
	for _, w := range c.Wrote {
		version, err := strconv.ParseInt(w.ResourceVersion, 10, 64)
		if err == nil && version > 1 && w.Resource == jobResource.GroupResource().String() {
			return Expired{w.Namespace, w.Name, strconv.FormatInt(version-1, 10)}, true
		}
	}
	return e, false
}

// ReadExpired returns the last version of a Job before it was deleted, which the storage keeps for some minutes, and why it
// has failed; "" if it has not.
func (w *Waiter) ReadExpired(ctx context.Context, e Expired) (u *unstructured.Unstructured, reason string, err error) {
	ctx, past := requestlog.Discard(ctx), w.At(e.version)
	u, err = past.objects.Resource(jobResource).Namespace(e.Namespace).Get(ctx, e.Name, metav1.GetOptions{})
	if err != nil {
		return nil, "", err
	}
	if StateOf(u).Status != Current {
		reason = past.newSearch(ctx, searchOptions{}, nil).why(u)
	}
	return u, reason, nil
}

// recordedTimeout limits the search for a Job in the records.
const recordedTimeout = 3 * time.Second

// findExpired returns the last version of a Job that does not exist, because its time to live has ended as the records of the
// control plane say; nil if that is not known.
func (w *Waiter) findExpired(ctx context.Context, r Ref) *unstructured.Unstructured {
	if w.records == nil || r.GroupKind() != jobKind {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, recordedTimeout)
	defer cancel()
	page, err := w.records.Records(ctx, observe.Query{Kinds: []observe.Kind{observe.KindCalled}, Controller: controllernames.TTLAfterFinished, Notable: true})
	if err != nil {
		return nil
	}
	for _, record := range slices.Backward(page.Records) {
		call, isCall := record.Event.(*observe.Called)
		if !isCall {
			continue
		}
		if e, ok := ExpiredBy(call); ok && e.Namespace == r.Namespace && e.Name == r.Name {
			u, _, err := w.ReadExpired(ctx, e)
			if err != nil {
				return nil
			}
			return u
		}
	}
	return nil
}
