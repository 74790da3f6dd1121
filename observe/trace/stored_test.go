package trace

import (
	"net/http"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// deploymentWritten is what the storage reports for a write to Deployment web.
func deploymentWritten(version string, deleted bool) []observe.Written {
	return []observe.Written{{Resource: "deployments.apps", Namespace: "default", Name: "web", ResourceVersion: version, Deleted: deleted}}
}

// A successful call that has stored nothing has changed nothing, whatever it was answered: a dry run that
// creates or deletes the object, or a request for a token.
func TestCallsThatStoreNothing(t *testing.T) {
	created := observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)}
	changed := observe.Called{Verb: "patch", ResourceVersion: "8", Wrote: deploymentWritten("8", false)}
	for name, call := range map[string]observe.Called{
		"creation":           {Verb: "create", Status: 201},
		"apply that creates": {Verb: "patch", Status: 201},
		"deletion":           {Verb: "delete"},
		"token":              {Verb: "create", Subresource: "token", Status: 201},
		"exec":               {Verb: "create", Subresource: "exec", Status: 101},
	} {
		t.Run(name, func(t *testing.T) {
			records := clientCalls(created, changed, call)
			for what, want := range map[What]string{"": "create", Changed: "patch"} {
				chain, err := Why(records, deployment("web"), Options{What: what})
				if err != nil {
					t.Fatal(err)
				}
				if got := chain.Links[0]; got.Verb != want || got.ID == "r3" || len(chain.Since) > 0 {
					t.Errorf("why %s is answered with %s, and %d others", what, labelOf(got), len(chain.Since))
				}
			}
			if chain, err := Why(records, deployment("web"), Options{What: Deleted}); err == nil {
				t.Errorf("it was deleted by %s", labelOf(chain.Links[0]))
			}
			tree, err := Build(records, deployment("web"), Options{})
			if err != nil || len(tree.Roots) != 2 || tree.unchangedRoots != 1 {
				t.Errorf("%d roots, %d without an effect, %v", len(tree.Roots), tree.unchangedRoots, err)
			}
		})
	}
}

// A call that got an error or no answer may have stored what it should: the storage says so.
func TestFailedCallsThatStore(t *testing.T) {
	created := observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)}
	late := observe.Called{Verb: "create", Status: http.StatusGatewayTimeout, Error: "request did not complete", Wrote: deploymentWritten("7", false)}
	lost := observe.Called{Verb: "patch", Error: "the client went away before it was answered", Wrote: deploymentWritten("8", false)}
	some := observe.Called{Verb: "deletecollection", Status: 403, Error: "other is protected", Wrote: deploymentWritten("9", true)}
	for name, tc := range map[string]struct {
		calls []observe.Called
		what  What
		says  []string
		none  string
	}{
		"creation":             {[]observe.Called{late}, "", []string{"Why Deployment default/web was created", "kubectl (admin) created Deployment web; 504: request did not complete."}, "failed to"},
		"change":               {[]observe.Called{created, lost}, Changed, []string{"was changed", "kubectl (admin) patched Deployment web; no answer: the client went away", "(version 8)"}, "failed to"},
		"part of a collection": {[]observe.Called{created, some}, Deleted, []string{"was deleted", "deleted every Deployment in default; 403: other is protected."}, "failed to"},
		"since":                {[]observe.Called{created, some}, "", []string{"was created", "Later, at 12:00:01.000, kubectl (admin) deleted every"}, "failed to"},
	} {
		t.Run(name, func(t *testing.T) {
			records := clientCalls(tc.calls...)
			for _, r := range records {
				c := r.Event.(*observe.Called)
				if c.Error == lost.Error {
					c.Status = 0
				}
				if c.Verb == "deletecollection" || c.Status == http.StatusGatewayTimeout { // the name may have been generated
					c.Object.Name = ""
				}
			}
			chain, err := Why(records, deployment("web"), Options{What: tc.what})
			if err != nil {
				t.Fatal(err)
			}
			checkSays(t, chain, tc.says, tc.none)
		})
	}
}

// The last change is the one that was stored last: a write may be held or wait for a webhook, while others
// overtake it.
func TestLastChangeIsTheLastStored(t *testing.T) {
	records := clientCalls(
		observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)},
		observe.Called{Verb: "patch", ResourceVersion: "9", Wrote: deploymentWritten("9", false)}, // held for a minute
		observe.Called{Verb: "update", ResourceVersion: "8", Wrote: deploymentWritten("8", false)},
	)
	records[1].Event.(*observe.Called).Took = time.Minute
	chain, err := Why(records, deployment("web"), Options{What: Changed})
	if err != nil {
		t.Fatal(err)
	}
	if got := chain.Links[0]; got.Verb != "patch" {
		t.Errorf("the last change is %s", labelOf(got))
	}
}

// A call may write other objects than its own: the creation of a Service creates an IPAddress, and an eviction
// changes a PodDisruptionBudget, whose UID is not that of the Pod.
func TestObjectsBesidesThatOfTheCall(t *testing.T) {
	address := observe.Object{Group: "networking.k8s.io", Resource: "ipaddresses", Kind: "IPAddress", Name: "10.0.0.7"}
	budget := observe.Object{Group: "policy", Resource: "poddisruptionbudgets", Kind: "PodDisruptionBudget", Namespace: "default", Name: "few", UID: "u-few"}
	service := observe.Object{Resource: "services", Kind: "Service", Namespace: "default", Name: "web"}
	call := func(o observe.Object, subresource string, wrote ...observe.Written) *observe.Called {
		return &observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{}, Verb: "create", Subresource: subresource, Object: o, Status: 201, Wrote: wrote}
	}
	web := pod("web")
	web.UID = "u-web"
	records := recorded(
		call(service, "", observe.Written{Resource: "ipaddresses.networking.k8s.io", Name: "10.0.0.7", ResourceVersion: "2"}, observe.Written{Resource: "services", Namespace: "default", Name: "web", ResourceVersion: "3"}),
		call(pod("web"), "eviction", observe.Written{Resource: "poddisruptionbudgets.policy", Namespace: "default", Name: "few", ResourceVersion: "4"}, observe.Written{Resource: "pods", Namespace: "default", Name: "web", ResourceVersion: "5"}),
		&observe.Delivered{Controller: "disruption-controller", Change: observe.Updated, Object: budget, ResourceVersion: "4"},
		&observe.Delivered{Controller: "disruption-controller", Change: observe.Updated, Object: web, ResourceVersion: "5"},
	)
	for _, tc := range []struct {
		about observe.Object
		what  What
		want  string
	}{
		{address, Created, "Service web"}, {budget, Changed, "Pod web"}, {web, Changed, "Pod web"},
	} {
		chain, err := Why(records, tc.about, Options{What: tc.what})
		if err != nil {
			t.Errorf("%s: %v", tc.about, err)
			continue
		}
		if n := chain.Links[0]; n.Object.Kind+" "+n.Object.Name != tc.want {
			t.Errorf("why %s was %s: %s, want a call about %s", tc.about, tc.what, labelOf(n), tc.want)
		}
	}
}

// An eviction deletes a Pod in two steps, as a delete does and the delete of a collection.
func TestWhyOfAnEvictedPod(t *testing.T) {
	c := newCluster(t)
	web := pod("web-0")
	c.clientCall("kubectl (admin)", "create", web, 0)
	evict := &observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{User: "admin"}, Verb: "create", Subresource: "eviction", Object: web, Status: 201, Began: time.Now()}
	var version string
	evict.Wrote = serve("kubectl (admin)", func() { version = c.store(web, false) })
	c.observer.AppendAt(evict, time.Now())
	c.react("simulated-kubelet", observe.Updated, web, version, web.Key(), func(by *observe.Recorder) { c.write(by, "delete", web, "") })
	chain, err := Why(c.catchUp(), web, Options{What: Deleted})
	if err != nil {
		t.Fatal(err)
	}
	checkSays(t, chain, []string{
		"was deleted", "kubectl (admin) evicted Pod web-0; simulated-kubelet then removed Pod web-0.", "evicted Pod web-0 (version 2 is marked as deleted)",
	}, "created Pod web-0 eviction")

	// So is the delete of a collection.
	c = newCluster(t)
	c.clientCall("kubectl (admin)", "create", web, 0)
	pods := web
	pods.Name = ""
	all := &observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{User: "admin"}, Verb: "deletecollection", Object: pods, Status: 200, Began: time.Now()}
	all.Wrote = serve("kubectl (admin)", func() { version = c.store(web, false) })
	c.observer.AppendAt(all, time.Now())
	c.react("simulated-kubelet", observe.Updated, web, version, web.Key(), func(by *observe.Recorder) { c.write(by, "delete", web, "") })
	if chain, err = Why(c.catchUp(), web, Options{What: Deleted}); err != nil {
		t.Fatal(err)
	}
	checkSays(t, chain, []string{"kubectl (admin) deleted every Pod in default; simulated-kubelet then removed Pod web-0."}, "It began")

	refused := clientCalls(observe.Called{Verb: "create", Subresource: "eviction", Status: 429, Error: "Cannot evict pod as it would violate the pod's disruption budget."})
	chain, err = Why(refused, deployment("web"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkSays(t, chain, []string{"kubectl (admin) failed to evict Deployment web: 429: Cannot evict pod"}, "create")
}

// Some kinds are created by an update.
func TestUpdateThatCreates(t *testing.T) {
	records := clientCalls(observe.Called{Verb: "update", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)})
	chain, err := Why(records, deployment("web"), Options{})
	if err != nil || chain.What != Created {
		t.Fatalf("%v, %v", chain, err)
	}
	checkSays(t, chain, []string{"kubectl (admin) created Deployment web."}, "updated")
}

// The story of an object with a known UID is not that of another one that has its name since.
func TestRecreatedObjectHasItsOwnStory(t *testing.T) {
	records := clientCalls(
		observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)},
		observe.Called{Verb: "delete", Wrote: deploymentWritten("8", true)},
		observe.Called{Verb: "create", Status: 201, ResourceVersion: "9", Wrote: deploymentWritten("9", false)},
	)
	for i, uid := range []string{"first", "first", "second"} {
		records[i].Event.(*observe.Called).Object.UID = uid
	}
	for uid, want := range map[string]string{"first": "r1", "second": "r3", "": "r3"} {
		about := deployment("web")
		about.UID = uid
		chain, err := Why(records, about, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := chain.Links[0].ID; got != want {
			t.Errorf("%q was created by %s, want %s", uid, got, want)
		}
	}
}

// A collection that was deleted is in the trace though no controller watches its objects.
func TestDeleteOfUnwatchedCollection(t *testing.T) {
	records := clientCalls(
		observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)},
		observe.Called{Verb: "deletecollection", Wrote: deploymentWritten("8", true)},
	)
	records[1].Event.(*observe.Called).Object.Name = ""
	tree, err := Build(records, deployment("web"), Options{})
	if err != nil || len(tree.Roots) != 2 {
		t.Errorf("%d roots, %v", len(tree.Roots), err)
	}
}

// The API server updates the usage of a quota on its own: that is not taken for a write of a client.
func TestWriteOfTheAPIServer(t *testing.T) {
	web := deployment("web")
	seen := func(version string) *observe.Delivered {
		return &observe.Delivered{Controller: "deployment-controller", Change: observe.Updated, Object: web, ResourceVersion: version}
	}
	for want, records := range map[string][]observe.Record{
		"The API server or an unrecorded client updated Deployment web.": append(clientCalls(observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)}), recorded(seen("8"))...),
		"A client updated Deployment web.":                               recorded(seen("8")),
	} {
		chain, err := Why(records, web, Options{What: Changed})
		if err != nil {
			t.Fatal(err)
		}
		checkSays(t, chain, []string{want}, "")
	}
}

// Before a write that is not recorded, which may be the API server's own, stands the last change by a user.
func TestUserChangeBeforeAWriteOfTheAPIServer(t *testing.T) {
	web := deployment("web")
	created := observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)}
	patched := observe.Called{Verb: "patch", ResourceVersion: "8", Wrote: deploymentWritten("8", false)}
	const says = "Its last recorded change by a user: at 12:00:01.000, kubectl (admin) patched Deployment web.\nThe API server or an unrecorded client updated"
	for name, tc := range map[string]struct {
		calls          []observe.Called
		says, saysNone string
	}{
		"changed":      {[]observe.Called{created, patched}, says, "the status"},
		"created only": {[]observe.Called{created}, "The API server or an unrecorded client updated", "last recorded change"},
	} {
		records := clientCalls(tc.calls...)
		last := records[len(records)-1]
		chain, err := Why(append(records, observe.Record{Seq: last.Seq + 1, Time: last.Time.Add(time.Second), Event: &observe.Delivered{
			Controller: "deployment-controller", Change: observe.Updated, Object: web, ResourceVersion: "9",
		}}), web, Options{What: Changed})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		checkSays(t, chain, []string{tc.says}, tc.saysNone)
	}
}

// An aggregated API server has a storage of its own, which reports nothing.
func TestObjectsOfAnAggregatedAPIServer(t *testing.T) {
	report := observe.Object{Group: "reports.example.com", Resource: "reports", Kind: "Report", Namespace: "default", Name: "daily"}
	records := clientCalls(
		observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)},
		observe.Called{Verb: "create", Status: 201, ResourceVersion: "3"}, observe.Called{Verb: "patch", Status: 200, ResourceVersion: "4"}, observe.Called{Verb: "delete", Status: 200},
	)
	for _, r := range records[1:] {
		r.Event.(*observe.Called).Object = report
	}
	for what, want := range map[What]string{Created: "create", Changed: "patch", Deleted: "delete"} {
		chain, err := Why(records, report, Options{What: what})
		if err != nil {
			t.Errorf("%s: %v", what, err)
		} else if got := chain.Links[0].Verb; got != want {
			t.Errorf("why %s is answered with %s", what, got)
		}
	}
}
