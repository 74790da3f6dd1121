package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// expiryCall returns the call by which the time to live of a Job of shop deletes it.
func expiryCall(name string, version int) *observe.Called {
	c := deleteCall("jobs.batch", version, "shop/"+name)
	c.Controller, c.Client = controllernames.TTLAfterFinished, nil
	return c
}

func finishedJob(name, condition, meta string) string {
	return fmt.Sprintf(`{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: %s, uid: %s-uid%s}, spec: {ttlSecondsAfterFinished: 0}, `+
		`status: {startTime: "2026-07-01T11:59:00Z", conditions: [{type: %s, status: "True", reason: BackoffLimitExceeded, lastTransitionTime: "2026-07-01T12:00:00Z"}]}}`, name, name, meta, condition)
}

const ofCronJob = `, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: cj, uid: cj, controller: true}]`

// judged returns the names of the test cases, with why they fail.
func judged(cases []testCase) (list []string) {
	for _, c := range cases {
		list = append(list, strings.TrimSuffix(strings.Join([]string{c.suite, c.name, c.failure}, ": "), ": "))
	}
	return list
}

// Jobs that their time to live has deleted are judged by their last version, unless a client has deleted what came after.
func TestExpiredJobsAreJudged(t *testing.T) {
	api := &pastAPI{objects: parseObjects(t, namespace,
		finishedJob("works", "Complete", ""), finishedJob("fails", "Failed", ""), finishedJob("of-a-cronjob", "Failed", ofCronJob),
		finishedJob("again", "Failed", ""), finishedJob("deleted", "Failed", ""), finishedJob("applied", "Complete", ""), finishedJob("applied-fails", "Failed", ""))}
	found := followCalls(t, api, t.Context(), expiryCall("works", 8), expiryCall("fails", 8), expiryCall("of-a-cronjob", 8), expiryCall("again", 8),
		expiryCall("deleted", 8), deleteCall("jobs.batch", 8, "shop/deleted"), expiryCall("applied", 8), expiryCall("applied-fails", 8), expiryCall("unknown", 8))
	gone := func(name string) testCase {
		ref := health.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, Namespace: "shop", Name: name}
		return testCase{suite: manifestSuite, name: ref.String(), failure: "no longer exists: x deleted it", details: "why", gone: ref}
	}
	s := &State{
		objects: parseObjects(t, namespace, finishedJob("again", "Complete", "")),
		cases:   []testCase{gone("applied"), gone("applied-fails"), gone("other"), {suite: "namespace shop", name: "Job shop/again"}},
	}
	s.SetDeleted(found)
	const failed = "Failed: BackoffLimitExceeded; ttl-after-finished-controller has deleted it since"
	want := []string{
		"manifests: Job shop/applied", "manifests: Job shop/applied-fails: " + failed, "manifests: Job shop/other: no longer exists: x deleted it",
		"namespace shop: Job shop/again", "namespace shop: Job shop/fails: " + failed, "namespace shop: Job shop/works",
	}
	if diff := cmp.Diff(want, judged(s.cases)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(s.unhealthy) != 2 || s.cases[0].details != "" {
		t.Errorf("unhealthy: %+v; %q", s.unhealthy, s.cases[0].details)
	}
	if why := fmt.Sprint(s.Incomplete()); !strings.Contains(why, `how Job shop/unknown ended is not known: jobs.batch "unknown" not found`) || strings.Count(why, "\n") > 0 {
		t.Errorf("incomplete: %s", why)
	}
}

// Without their namespace, which a client has deleted, Jobs do not count, as its other content.
func TestExpiredJobsOfADeletedNamespace(t *testing.T) {
	api := &pastAPI{objects: parseObjects(t, namespace, finishedJob("fails", "Failed", ""))}
	found := followCalls(t, api, t.Context(), expiryCall("fails", 8), deleteCall("namespaces", 8, "/shop"))
	for name, s := range map[string]*State{"deleted": {}, "made again": {objects: parseObjects(t, namespace)}} {
		if s.SetDeleted(found); len(s.cases) > 0 || s.Incomplete() != nil {
			t.Errorf("%s: %v, %v", name, judged(s.cases), s.Incomplete())
		}
	}
}

// A restore of a snapshot makes the objects others.
func TestExpiredJobsBeforeARestore(t *testing.T) {
	api := &pastAPI{objects: parseObjects(t, namespace, finishedJob("fails", "Failed", ""))}
	found := followCalls(t, api, t.Context(), expiryCall("fails", 8), &observe.Called{Verb: observe.VerbRestore, Controller: observe.Own})
	s := &State{objects: parseObjects(t, namespace)}
	if s.SetDeleted(found); len(s.cases) > 0 {
		t.Errorf("%v", judged(s.cases))
	}
}

// A Job of a manifest may have expired before the deletions are followed.
func TestExpiredJobsBefore(t *testing.T) {
	api := &pastAPI{t: t, objects: parseObjects(t, namespace, finishedJob("fails", "Failed", ""))}
	j := newFakeJournal()
	j.add(0, deleteCall("pods", 8, "shop/before"))
	j.add(time.Second, expiryCall("fails", 8))
	found := followJournal(t, api, t.Context(), j)
	if len(found.expired.list) != 1 || found.Count() > 0 {
		t.Errorf("got %+v", found)
	}
}
