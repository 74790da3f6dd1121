package trace

import (
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// An object with finalizers is deleted in two steps, by whoever deletes it and by whoever removes
// the last finalizer. Both are named, and an object that still exists is being deleted.
func TestWhyOfMarkedObjects(t *testing.T) {
	written := func(version string, deleted bool) []observe.Written {
		return []observe.Written{{Resource: "deployments.apps", Namespace: "default", Name: "web", ResourceVersion: version, Deleted: deleted}}
	}
	created := observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: written("7", false)}
	marked := observe.Called{Verb: "delete", ResourceVersion: "8", Wrote: written("8", false)}
	all := observe.Called{Verb: "deletecollection", Wrote: written("8", false)}
	again := observe.Called{Verb: "delete", ResourceVersion: "8"}
	status := observe.Called{Verb: "update", Subresource: "status", ResourceVersion: "9", Wrote: written("9", false)}
	removed := observe.Called{Verb: "patch", ResourceVersion: "9", Wrote: written("10", true)}
	byRestore := observe.Called{Verb: observe.VerbRestore, ResourceVersion: "11", Wrote: written("11", true)}
	const (
		finalizer = "It is being deleted; waiting for finalizer example.com/hold."
		held      = "Its removal is not recorded: finalizers may hold it, or the kubelet of a Pod."
	)
	for name, tc := range map[string]struct {
		calls    []observe.Called
		what     What
		now      string
		says     []string
		saysNone string
	}{
		"held":               {[]observe.Called{created, marked, status}, Deleted, finalizer, []string{"Why Deployment default/web is being deleted (", "kubectl (admin) deleted Deployment web.", finalizer}, "no record"},
		"held in a record":   {[]observe.Called{created, marked, again}, Deleted, "", []string{"Why Deployment default/web is being deleted (", "kubectl (admin) deleted Deployment web.", held}, "Later"},
		"one of many":        {[]observe.Called{created, all}, Deleted, finalizer, []string{"is being deleted (", "kubectl (admin) deleted every Deployment"}, "no record"},
		"finalizer removed":  {[]observe.Called{created, marked, status, removed}, Deleted, "", []string{"Why Deployment default/web was deleted (", "kubectl (admin) deleted Deployment web.", "Later, at 12:00:03.000, kubectl (admin) patched Deployment web, which removed the object."}, "no record"},
		"why of a held one":  {[]observe.Called{created, marked, status}, "", finalizer, []string{"was created", `Later, at 12:00:01.000, kubectl (admin) deleted Deployment web: "why web --deleted" shows why.`}, "no record"},
		"its last change":    {[]observe.Called{created, marked, status}, Changed, finalizer, []string{"was changed", `Before, at 12:00:01.000, kubectl (admin) deleted Deployment web: "why web --deleted" shows why.`}, "no record"},
		"the mark":           {[]observe.Called{created, marked}, Changed, finalizer, []string{"was changed", "kubectl (admin) deleted Deployment web"}, "Before"},
		"why of one removed": {[]observe.Called{created, marked, removed}, "", "", []string{"Later, at 12:00:01.000, kubectl (admin) deleted Deployment web.", `Later, at 12:00:02.000, kubectl (admin) patched Deployment web, which removed the object: "why web --deleted" shows why.`}, "last change"},
		"of many, removed":   {[]observe.Called{created, all, removed}, "", "", []string{"Later, at 12:00:01.000, kubectl (admin) deleted every Deployment in default.", `Later, at 12:00:02.000, kubectl (admin) patched Deployment web, which removed the object: "why web --deleted" shows why.`}, "last change"},
		"of many, held":      {[]observe.Called{created, all}, "", finalizer, []string{`deleted every Deployment in default: "why web --deleted" shows why.`}, "last change"},
		"change, removed":    {[]observe.Called{created, marked, status, removed}, Changed, "", []string{`Later, at 12:00:03.000, kubectl (admin) patched Deployment web, which removed the object: "why web --deleted" shows why.`}, "last change"},
		"created again":      {[]observe.Called{created, marked, removed, created}, "", "", []string{"was created (1.0 ms, from 12:00:03.000)"}, "deleted"},
		"by a restore":       {[]observe.Called{created, marked, byRestore}, Deleted, "", []string{"removed Deployment web"}, "kubectl (admin) deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			records := clientCalls(tc.calls...)
			for _, r := range records {
				if c := r.Event.(*observe.Called); c.Verb == "deletecollection" {
					c.Object.Name = ""
				}
			}
			chain, err := Why(records, deployment("web"), Options{What: tc.what, Now: tc.now, WhyDeleted: "why web --deleted", WhyChanged: "why web --changed"})
			if err != nil {
				t.Fatal(err)
			}
			checkSays(t, chain, tc.says, tc.saysNone)
		})
	}
}

// The removal of the last finalizer may have a cause of its own, which is said.
func TestWhyOfARemovalForAnotherReason(t *testing.T) {
	c := newCluster(t)
	hold, web := deployment("hold"), deployment("web")
	c.clientCall("kubectl (admin)", "create", web, 0)
	version := c.clientCall("kubectl (admin)", "delete", web, 0)
	c.react("operator/deployment", observe.Updated, hold, c.clientCall("kubectl (admin)", "update", hold, 0), hold.Key(), func(by *observe.Recorder) {
		by.Call(&observe.Called{Verb: "patch", Object: web, Status: 200, ResourceVersion: version}, func() { c.store(web, true) })
	})
	chain, err := Why(c.catchUp(), web, Options{What: Deleted})
	if err != nil {
		t.Fatal(err)
	}
	const want = "operator/deployment patched Deployment web, which removed the object, because Deployment hold was updated."
	if got := writeString(t, chain, Text, Style{}); !strings.Contains(got, want) || chain.Links[0].Verb != "delete" {
		t.Errorf("no %q in:\n%s", want, got)
	}
}

// The removal of the last finalizer by an operator, long after it has seen the deletion, follows from that all the same: an object
// that is not marked as deleted stays. So does what the garbage collector deletes then.
func TestRemovalFollowsFromTheDeletion(t *testing.T) {
	const operator = "operator.py (admin)"
	for name, test := range map[string]struct {
		verb        string
		unexplained *observe.Received
		says        []string
		saysNone    string
	}{
		"by an operator":    {"patch", &observe.Received{}, []string{"It likely began when kubectl (admin) deleted Deployment web.", "kubectl (admin) deleted Deployment web"}, "not known"},
		"by its own delete": {"delete", &observe.Received{}, []string{"It began when " + operator + " deleted Deployment web."}, "likely"},
		"by a user":         {"patch", nil, []string{"It began when " + operator + " patched Deployment web."}, "likely"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			web, dependent := deployment("web"), c.replicaSet("web")
			c.clientCall("kubectl (admin)", "create", web, 0)
			c.clientCall("kubectl (admin)", "delete", web, 0)
			var removed string
			wrote := serve(operator, func() { removed = c.store(web, true) })
			c.observer.Append(&observe.Called{
				Controller: operator, Client: &observe.Caller{}, Verb: test.verb, Object: web, Status: 200, ResourceVersion: removed,
				Began: time.Now(), Took: time.Microsecond, Wrote: wrote, Unexplained: test.unexplained,
			})
			c.react("garbage-collector-controller", observe.Deleted, web, removed, dependent.Key(), func(by *observe.Recorder) {
				by.Call(&observe.Called{Verb: "delete", Object: dependent, Status: 200}, func() { c.store(dependent, true) })
			})
			records := c.catchUp()
			chain, err := Why(records, dependent, Options{What: Deleted})
			if err != nil {
				t.Fatal(err)
			}
			checkSays(t, chain, test.says, test.saysNone)
			chain, err = Why(records, web, Options{What: Deleted})
			if err != nil {
				t.Fatal(err)
			}
			checkSays(t, chain, []string{"kubectl (admin) deleted Deployment web", operator + " "}, "not known")
		})
	}
}

// An operator that was down, or a standby, while an object was deleted removes the last finalizer when it works again. Whatever it
// has found or received then, the deletion is the reason, unless a user has changed something since. An operator that was running
// has another reason if any client has.
func TestRemovalAtAStartFollowsFromTheDeletion(t *testing.T) {
	const operator, began = "operator (admin)", "began when kubectl (admin) deleted Deployment web."
	web, hold, child, owned := deployment("web"), deployment("hold"), pod("child"), pod("owned")
	for name, test := range map[string]struct {
		remove func(c *cluster, before, marked, after string)
		want   string
	}{
		"an owned object found at the start": {func(c *cluster, before, _, _ string) {
			c.clientRemoval(operator, web, c.watched(operator, observe.Listed, child, before))
		}, began},
		"a later version found at the start": {func(c *cluster, _, _, after string) {
			c.clientRemoval(operator, web, c.watched(operator, observe.Listed, web, after))
		}, began},
		"an event for a standby": {func(c *cluster, before, _, _ string) {
			var version string
			c.react("pod-controller", observe.Added, child, before, child.Key(), func(by *observe.Recorder) { version = c.write(by, "update", child, "status") })
			c.clientRemoval(operator, web, c.watched(operator, observe.Updated, child, version))
		}, began},
		"a client's change for a standby": {func(c *cluster, _, _, _ string) {
			event := c.watched(operator, observe.Updated, hold, c.unexplainedUpdate(hold))
			c.takeLease(operator)
			c.clientRemoval(operator, web, event)
		}, began},
		"a client's change since": {func(c *cluster, _, _, _ string) {
			c.takeLease(operator)
			c.clientRemoval(operator, web, c.watched(operator, observe.Updated, hold, c.unexplainedUpdate(hold)))
		}, "gitops (admin) updated Deployment hold"},
		"a change before": {func(c *cluster, before, _, _ string) {
			c.clientRemoval(operator, web, c.watched(operator, observe.Updated, child, before))
		}, began},
		"a user's change since": {func(c *cluster, _, _, _ string) {
			changed := c.clientCall("kubectl (admin)", "update", hold, 0)
			c.clientRemoval(operator, web, c.watched(operator, observe.Updated, hold, changed))
		}, "It likely began when kubectl (admin) updated Deployment hold."},
		"in a sync": {func(c *cluster, before, _, _ string) {
			c.react(operator+"/web", observe.Listed, child, before, web.Key(), func(by *observe.Recorder) { c.remove(by, web) })
		}, began},
		"in a sync of another object": {func(c *cluster, before, _, _ string) {
			c.react(operator+"/web", observe.Listed, child, before, child.Key(), func(by *observe.Recorder) { c.remove(by, web) })
		}, began},
		"in the second sync": {func(c *cluster, before, _, _ string) {
			var version string
			c.react(operator+"/web", observe.Listed, child, before, web.Key(), func(by *observe.Recorder) { version = c.write(by, "update", web, "status") })
			c.react(operator+"/web", observe.Updated, web, version, web.Key(), func(by *observe.Recorder) { c.remove(by, web) })
		}, began},
		"in a sync because of a change since": {func(c *cluster, _, _, _ string) {
			changed := c.clientCall("kubectl (admin)", "update", hold, 0)
			c.react(operator+"/web", observe.Updated, hold, changed, web.Key(), func(by *observe.Recorder) { c.remove(by, web) })
		}, "It began when kubectl (admin) updated Deployment hold."},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.clientCall("kubectl (admin)", "create", web, 0)
			before := c.clientCall("kubectl (admin)", "create", child, 0)
			marked := c.clientCall("kubectl (admin)", "delete", web, 0)
			after := c.clientCall("kubectl (admin)", "patch", web, 0)
			test.remove(c, before, marked, after)
			c.react("garbage-collector-controller", observe.Deleted, web, strconv.Itoa(c.revision), owned.Key(), func(by *observe.Recorder) {
				by.Call(&observe.Called{Verb: "delete", Object: owned, Status: 200}, func() { c.store(owned, true) })
			})
			records := c.catchUp()
			chain, err := Why(records, owned, Options{What: Deleted})
			if err != nil {
				t.Fatal(err)
			}
			checkSays(t, chain, []string{"deleted Pod owned because Deployment web was deleted.", test.want}, "created")
			if test.want != began {
				return
			}
			chain, err = Why(records, web, Options{What: Deleted})
			if err != nil {
				t.Fatal(err)
			}
			checkSays(t, chain, []string{"kubectl (admin) deleted Deployment web; " + operator}, "because")
		})
	}
}

// clientRemoval removes an object as a client that has an event as its likely cause.
func (c *cluster) clientRemoval(who string, o observe.Object, cause uint64) {
	var version string
	wrote := serve(who, func() { version = c.store(o, true) })
	c.observer.Append(&observe.Called{
		Controller: who, Client: &observe.Caller{}, Verb: "update", Object: o, Status: 200, ResourceVersion: version,
		Began: time.Now(), Took: time.Microsecond, Wrote: wrote, Cause: cause,
	})
}

// unexplainedUpdate updates an object as a client with watches of which no cause is known.
func (c *cluster) unexplainedUpdate(o observe.Object) (version string) {
	const who = "gitops (admin)"
	wrote := serve(who, func() { version = c.store(o, false) })
	c.observer.Append(&observe.Called{
		Controller: who, Client: &observe.Caller{}, Verb: "update", Object: o, Status: 200, ResourceVersion: version,
		Began: time.Now(), Took: time.Microsecond, Wrote: wrote, Unexplained: &observe.Received{},
	})
	return version
}

// awaitClock returns when the clock has gone on: it may not between two records.
func awaitClock() {
	for began := time.Now(); !time.Now().After(began); {
		runtime.Gosched()
	}
}

// takeLease begins to lead.
func (c *cluster) takeLease(who string) {
	awaitClock()
	lease := observe.Object{Kind: "Lease", Group: "coordination.k8s.io", Resource: "leases", Namespace: "default", Name: "lock"}
	c.observer.Append(&observe.Called{Controller: who, Client: &observe.Caller{}, Verb: "update", Object: lease, Status: 200, Began: time.Now(), TakenBy: "two"})
	awaitClock()
}

// remove removes an object, with its last finalizer, as a part of a sync.
func (c *cluster) remove(by *observe.Recorder, o observe.Object) {
	by.Call(&observe.Called{Verb: "update", Object: o, Status: 200}, func() { c.store(o, true) })
}

// A delete of a collection with a selector deletes what matches, not every object.
func TestDeletionBySelector(t *testing.T) {
	records := clientCalls(
		observe.Called{Verb: "create", Status: 201, ResourceVersion: "7"},
		observe.Called{Verb: "deletecollection", Selected: true, Wrote: []observe.Written{{Resource: "deployments.apps", Namespace: "default", Name: "web", ResourceVersion: "8", Deleted: true}}},
	)
	records[1].Event.(*observe.Called).Object.Name = ""
	chain, err := Why(records, deployment("web"), Options{What: Deleted})
	if err != nil {
		t.Fatal(err)
	}
	text := writeString(t, chain, Text, Style{})
	if strings.Count(text, "kubectl (admin) deleted the Deployments that match a selector") != 2 || strings.Contains(text, "every") {
		t.Errorf("it does not say that there was a selector:\n%s", text)
	}
}

// With foreground deletion, the garbage collector removes an object by a patch of its finalizers.
func TestRemovalByAPatch(t *testing.T) {
	const collector = "garbage-collector-controller"
	c := newCluster(t)
	web := deployment("web")
	c.clientCall("kubectl (admin)", "create", web, 0)
	c.react(collector, observe.Updated, web, c.clientCall("kubectl (admin)", "delete", web, 0), web.Key(), func(by *observe.Recorder) {
		by.Call(&observe.Called{Verb: "patch", Object: web, Status: 200}, func() { c.store(web, true) })
	})
	chain, err := Why(c.catchUp(), web, Options{What: Deleted})
	if err != nil {
		t.Fatal(err)
	}
	checkSays(t, chain, []string{
		"kubectl (admin) deleted Deployment web; " + collector + " then removed Deployment web.", collector + " patched Deployment web", ", which removed the object",
	}, "then patched")
}
