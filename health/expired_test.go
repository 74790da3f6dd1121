package health

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

var (
	migrate = Ref{schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, "shop", "migrate"}
	failed  = `type: Failed, reason: BackoffLimitExceeded, message: Job has reached the specified backoff limit`
)

// job returns a Job with a time to live in seconds that has finished at noon; ttl is empty for none, condition for one that runs.
func job(ttl, condition, meta string) string {
	if ttl != "" {
		ttl = "ttlSecondsAfterFinished: " + ttl + ", "
	}
	text := fmt.Sprintf(`{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: migrate%s}, spec: {%scompletions: 1}, status: {startTime: "2026-07-01T11:59:00Z"`, meta, ttl)
	if condition != "" {
		text += fmt.Sprintf(`, succeeded: 1, conditions: [{status: "True", lastTransitionTime: "2026-07-01T12:00:00Z", %s}]`, condition)
	}
	return text + "}}"
}

// A Job that its time to live deletes is what it was before.
func TestStateOfAnExpiredJob(t *testing.T) {
	deleted := func(at, finalizers string) string {
		return fmt.Sprintf(`, deletionTimestamp: "2026-07-01T%sZ", finalizers: [%s]`, at, finalizers)
	}
	for name, tc := range map[string]struct {
		job  string
		want Status
	}{
		"complete":             {job("5", "type: Complete", deleted("12:00:05", "foregroundDeletion")), Current},
		"failed":               {job("0", failed, deleted("12:00:00", "foregroundDeletion")), Failed},
		"before its time":      {job("5", "type: Complete", deleted("12:00:04", "foregroundDeletion")), Terminating},
		"without a time":       {job("", "type: Complete", deleted("12:00:05", "foregroundDeletion")), Terminating},
		"running":              {job("5", "", deleted("12:00:05", "foregroundDeletion")), Terminating},
		"with other finalizer": {job("5", "type: Complete", deleted("12:00:05", "foregroundDeletion, a.b/c")), Terminating},
	} {
		if s := StateOf(parseObject(t, tc.job)); s.Status != tc.want {
			t.Errorf("%s: %s: %s, want %s", name, s.Status, s.Message, tc.want)
		}
	}
}

// waitForJob waits for a Job that is deleted while it is watched.
func waitForJob(t *testing.T, o Options, last string) (w *waitResult) {
	synctest.Test(t, func(t *testing.T) {
		at := time.Until(time.Date(2026, 7, 1, 12, 0, 10, 0, time.UTC))
		time.Sleep(at)
		c := newCluster(t, job("5", "", ""), justMade)
		var done <-chan struct{}
		w, done = c.start(t, o, migrate, web) // the other one keeps it waiting
		synctest.Wait()
		c.update(t, jobResource, last)
		synctest.Wait()
		if err := c.objects.Tracker().Delete(jobResource, "shop", "migrate"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		c.update(t, deployments, rolledOut)
		<-done
	})
	return w
}

func TestWaitForAJobThatExpires(t *testing.T) {
	if w := waitForJob(t, Options{}, job("5", "type: Complete", "")); w.err != nil || strings.Contains(fmt.Sprint(w.progress), "NotFound") {
		t.Errorf("complete: got %v, %q", w.err, w.progress)
	}
	if w := waitForJob(t, Options{}, job("100", "type: Complete", "")); w.err == nil || !strings.Contains(fmt.Sprint(w.progress), "NotFound") {
		t.Errorf("deleted before its time: got %v, %q", w.err, w.progress)
	}
	w := waitForJob(t, Options{}, job("5", failed, ""))
	bad, ok := errors.AsType[*NotHealthyError](w.err)
	if !ok || bad.Objects[0].Ref != migrate || !strings.Contains(bad.Objects[0].Reason, "BackoffLimitExceeded") {
		t.Errorf("failed: got %v, %+v", w.err, bad)
	}
}

// A Job that its time to live has deleted is not one that outlives it.
func TestDeletedJobIsNotOverdue(t *testing.T) {
	b := newTracker([]Ref{migrate}, Options{})
	ended := parseObject(t, job("0", failed, ""))
	b.applyUpdate(objectUpdate{ref: migrate, object: ended})
	if e := &b.objects[0]; e.isLast || !isOverdue(e.object) {
		t.Errorf("one that is there: got %+v", e)
	}
	b.applyUpdate(objectUpdate{ref: migrate, last: ended})
	if e := &b.objects[0]; !e.isLast || e.object == nil || e.Status != Failed {
		t.Errorf("one that is gone: got %+v", e)
	}
}

// The log of a Job that has failed is not named if its time to live is about to delete it, or has.
func TestLogsOfAJobThatExpires(t *testing.T) {
	const pod = `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: p, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: migrate, uid: uid-of-migrate, controller: true}]}, status: {phase: Failed, containerStatuses: [{name: c, state: {terminated: {exitCode: 3}}}]}}`
	const deleted = "; its Pods are deleted, with their logs, by ttl-after-finished-controller (ttlSecondsAfterFinished)"
	for ttl, named := range map[string]bool{"": true, "0": false, "6": false, "60": true} {
		for _, others := range [][]string{{pod}, nil} {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Date(2026, 7, 1, 12, 0, 3, 0, time.UTC)))
				failedJob := job(ttl, failed, "")
				c := newCluster(t, append(others, failedJob)...)
				w, done := c.start(t, Options{}, migrate)
				<-done
				bad, ok := errors.AsType[*NotHealthyError](w.err)
				if !ok {
					t.Fatal(w.err)
				}
				got := bad.Objects[0]
				if hasLog := got.Log != nil; hasLog != (named && others != nil) || strings.HasSuffix(got.Reason, deleted) == named {
					t.Errorf("ttl %q, %d Pods: got the log %v: %s", ttl, len(others), got.Log, got.Reason)
				}
				s, err := c.Examine(t.Context(), "jobs", "shop", "migrate")
				if err != nil || s.Message != got.Reason || (s.Log == nil) != (got.Log == nil) {
					t.Errorf("ttl %q, %d Pods: Examine: got the log %v: %s, %v", ttl, len(others), s.Log, s.Message, err)
				}
				time.Sleep(2 * time.Minute) // nothing has deleted it
				if s, err := c.Examine(t.Context(), "jobs", "shop", "migrate"); err != nil || (s.Log != nil) != (others != nil) || strings.HasSuffix(s.Message, deleted) {
					t.Errorf("ttl %q, %d Pods, 2 minutes later: got the log %v: %s, %v", ttl, len(others), s.Log, s.Message, err)
				}
			})
		}
	}
}

// fakeRecords has the records of one controller.
type fakeRecords struct {
	observe.Source
	calls []*observe.Called
}

func (f *fakeRecords) Records(_ context.Context, q observe.Query) (p observe.Page, err error) {
	if q.Controller != controllernames.TTLAfterFinished {
		return p, errors.New("asks for more than it needs")
	}
	for _, c := range f.calls {
		p.Records = append(p.Records, observe.Record{Event: c})
	}
	return p, nil
}

func expiry(name string, version string) *observe.Called {
	return &observe.Called{
		Controller: controllernames.TTLAfterFinished, Verb: "delete", Status: http.StatusOK,
		Wrote: []observe.Written{{Resource: "jobs.batch", Namespace: "shop", Name: name, ResourceVersion: version}},
	}
}

// A wait that begins long after its time to live has deleted a failed Job says so of its Pods.
func TestWaitForAFailedJobThatHasExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 7, 1, 12, 5, 0, 0, time.UTC)))
		c := newCluster(t, job("0", failed, ""))
		c.Waiter.objects = pastOnly{c.objects}
		w, done := c.start(t, Options{Records: &fakeRecords{calls: []*observe.Called{expiry("migrate", "9")}}}, migrate)
		<-done
		if bad, ok := errors.AsType[*NotHealthyError](w.err); !ok || !strings.Contains(bad.Objects[0].Reason, "its Pods are deleted") {
			t.Errorf("got %+v", w.err)
		}
	})
}

// The records know a Job that had expired before the wait began. The fake server has it in each version, but the wait sees none.
func TestWaitForAJobThatHasExpired(t *testing.T) {
	for name, tc := range map[string]struct {
		calls []*observe.Called
		want  bool
	}{
		"expired":    {[]*observe.Called{expiry("other", "7"), expiry("migrate", "9")}, true},
		"not known":  {[]*observe.Called{expiry("other", "7")}, false},
		"no version": {[]*observe.Called{expiry("migrate", "")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, job("5", "type: Complete", ""))
				c.Waiter.objects = pastOnly{c.objects}
				w, done := c.start(t, Options{Records: &fakeRecords{calls: tc.calls}}, migrate)
				<-done
				if (w.err == nil) != tc.want {
					t.Errorf("got %v, %q", w.err, w.progress)
				}
			})
		})
	}
}

// pastOnly has objects in earlier versions only.
type pastOnly struct{ dynamic.Interface }

func (p pastOnly) Resource(r schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return pastOnlyResource{p.Interface.Resource(r)}
}

type pastOnlyResource struct {
	dynamic.NamespaceableResourceInterface
}

func (p pastOnlyResource) Namespace(ns string) dynamic.ResourceInterface {
	return pastOnlyNamespace{p.NamespaceableResourceInterface.Namespace(ns)}
}

type pastOnlyNamespace struct{ dynamic.ResourceInterface }

func (p pastOnlyNamespace) List(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list, err := p.ResourceInterface.List(ctx, o)
	if err == nil && o.ResourceVersionMatch != metav1.ResourceVersionMatchExact {
		list.Items = nil
	}
	return list, err
}

func TestExpiredBy(t *testing.T) {
	for name, change := range map[string]func(*observe.Called){
		"a client":           func(c *observe.Called) { c.Client = &observe.Caller{} },
		"another controller": func(c *observe.Called) { c.Controller = "garbage-collector-controller" },
		"refused":            func(c *observe.Called) { c.Status = http.StatusForbidden },
		"a read":             func(c *observe.Called) { c.Verb = "get" },
		"without an effect":  func(c *observe.Called) { c.Wrote = nil },
		"of a Pod":           func(c *observe.Called) { c.Wrote[0].Resource = "pods" },
	} {
		c := expiry("migrate", "9")
		if e, ok := ExpiredBy(c); !ok || e != (Expired{"shop", "migrate", "8"}) {
			t.Fatalf("got %+v, %v", e, ok)
		}
		change(c)
		if e, ok := ExpiredBy(c); ok {
			t.Errorf("%s: got %+v", name, e)
		}
	}
}
