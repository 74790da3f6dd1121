package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// A CronJob whose start is due creates a Job, and deletes the one before if its concurrencyPolicy is Replace. The last event
// that the controller received before is not the reason.
func TestDueStartsOfCronJobs(t *testing.T) {
	job := func(name string) observe.Object {
		return observe.Object{Group: "batch", Resource: "jobs", Kind: "Job", Namespace: "default", Name: name}
	}
	var records []observe.Record
	add := func(after time.Duration, e observe.Event) { records = appendLater(records, after, e) }
	write := func(verb, name, version string, sync uint64) {
		add(time.Millisecond, &observe.Called{Controller: controllernames.CronJob, Verb: verb, Object: job(name), Status: 200, ResourceVersion: version, Sync: sync,
			Wrote: []observe.Written{{Resource: "jobs.batch", Namespace: "default", Name: name, ResourceVersion: version, Deleted: verb == "delete"}}})
	}
	sync := func(id uint64, n *observe.Synced) {
		n.Controller, n.Queue, n.ID, n.Key, n.KeyBasis, n.Took, n.Retried = controllernames.CronJob, "cronjob", id, "default/rep", observe.BasisEvent, 10*time.Millisecond, true
		add(5*time.Millisecond, n)
	}
	cronJob := observe.Object{Group: "batch", Resource: "cronjobs", Kind: "CronJob", Namespace: "default", Name: "rep"}
	add(0, &observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{}, Verb: "create", Object: cronJob, Status: 201, ResourceVersion: "1",
		Wrote: []observe.Written{{Resource: "cronjobs.batch", Namespace: "default", Name: "rep", ResourceVersion: "1"}}})
	add(time.Millisecond, &observe.Delivered{Controller: controllernames.CronJob, Change: observe.Added, Object: cronJob, ResourceVersion: "1", Queues: []string{"cronjob"}, Adds: []uint64{1}})
	write("create", "rep-1", "2", 1)
	sync(1, &observe.Synced{Add: 1, Cause: 2, Sure: true})
	add(time.Minute, &observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{}, Verb: "update", Subresource: "status", Object: job("rep-1"), Status: 200, ResourceVersion: "3",
		Wrote: []observe.Written{{Resource: "jobs.batch", Namespace: "default", Name: "rep-1", ResourceVersion: "3"}}})
	add(time.Millisecond, &observe.Delivered{Controller: controllernames.CronJob, Change: observe.Updated, Object: job("rep-1"), ResourceVersion: "3", Queues: []string{"cronjob"}, Adds: []uint64{2}})
	sync(2, &observe.Synced{Add: 2, Cause: uint64(len(records)), Sure: true})
	add(time.Minute, &observe.Logged{Controller: "other"})
	write("delete", "rep-0", "4", 3) // beyond the limit of the history
	write("delete", "rep-1", "5", 3)
	write("create", "rep-2", "6", 3)
	sync(3, &observe.Synced{Add: 3, CauseSync: 2, Sure: true})
	for name, want := range map[string]string{
		"rep-1": "deleted Job rep-1 because a start of CronJob rep was due and its concurrencyPolicy is Replace.",
		"rep-2": "created Job rep-2 because a start of CronJob rep was due.",
		"rep-0": "deleted Job rep-0 because Job rep-1 was updated.",
	} {
		what := Deleted
		if name == "rep-2" {
			what = Created
		}
		chain, err := Why(records, job(name), Options{What: what})
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(writeString(t, chain, Text, Style{})), " ")
		if !strings.Contains(text, want) {
			t.Errorf("%s: want %q in\n%s", name, want, text)
		}
	}
}
