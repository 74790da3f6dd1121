package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A controller that returns RequeueAfter works by a timer: what its first sync followed from is long ago.
func TestWhyOfARequeuedSync(t *testing.T) {
	const operator = "shop-operator/site"
	for _, test := range []struct {
		name    string
		delay   time.Duration
		err     string
		creator string
		change  observe.Change
		want    string
	}{
		{"a timer", 5 * time.Second, "", "kubectl (admin)", observe.Added,
			"shop-operator/site updated Site shop status because the sync before had asked to be requeued after 5.0 s. It began when kubectl (admin) created Site shop."},
		{"and the process before has made the object", 5 * time.Second, "", "shop-operator (admin)", observe.Added,
			"shop-operator/site updated Site shop status because the sync before had asked to be requeued after 5.0 s. +"},
		{"and the object existed", 5 * time.Second, "", "kubectl (admin)", observe.Listed,
			"shop-operator/site updated Site shop status because the sync before had asked to be requeued after 5.0 s. +"},
		{"a short delay", 5 * time.Millisecond, "", "kubectl (admin)", observe.Added,
			"shop-operator/site updated Site shop status because Site shop was added. It began when kubectl (admin) created Site shop."},
		{"a failure", 5 * time.Second, "no luck", "kubectl (admin)", observe.Added,
			"shop-operator/site updated Site shop status because Site shop was added. It began when kubectl (admin) created Site shop."},
	} {
		site := observe.Object{Group: "example.com", Resource: "sites", Kind: "Site", Namespace: "default", Name: "shop"}
		var records []observe.Record
		add := func(after time.Duration, e observe.Event) { records = appendLater(records, after, e) }
		wrote := func(version string) []observe.Written {
			return []observe.Written{{Resource: "sites.example.com", Namespace: "default", Name: "shop", ResourceVersion: version}}
		}
		created := &observe.Called{Controller: test.creator, Client: &observe.Caller{}, Verb: "create", Object: site, Status: 201, ResourceVersion: "1", Wrote: wrote("1")}
		if test.creator == "shop-operator (admin)" {
			created.Unexplained = &observe.Received{}
		}
		add(0, created)
		add(time.Millisecond, &observe.Delivered{Controller: operator, Change: test.change, Object: site, ResourceVersion: "1", Queues: []string{"site"}, Adds: []uint64{1}})
		for id := uint64(1); id <= 3; id++ {
			s := &observe.Synced{Controller: operator, Queue: "site", ID: id, Key: "default/shop", KeyBasis: observe.BasisQueue, Add: id, Sure: true, Took: time.Millisecond, CauseSync: id - 1}
			after := test.delay
			if id == 1 {
				s.Cause, after = 2, time.Millisecond
			}
			if id == 3 {
				add(test.delay, &observe.Called{Controller: operator, Client: &observe.Caller{}, Verb: "update", Subresource: "status", Object: site, Status: 200, ResourceVersion: "2", Sync: id, Wrote: wrote("2")})
				after = 0
			} else {
				s.Retried, s.Error = true, test.err
			}
			add(after, s)
			if s.Retried {
				s.Due = records[len(records)-1].Time.Add(test.delay)
			}
		}
		chain, err := Why(records, site, Options{What: Changed})
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(writeString(t, chain, Text, Style{})), " "); !strings.Contains(text, test.want) {
			t.Errorf("%s: want %q in\n%s", test.name, test.want, text)
		}
	}
}

// An operator that asks a cloud from time to time removes its finalizer: a timer leads to the removal, and has no object.
func TestWhyOfARemovalByATimer(t *testing.T) {
	const operator = "shop-operator/site"
	site := observe.Object{Group: "example.com", Resource: "sites", Kind: "Site", Namespace: "default", Name: "shop"}
	var records []observe.Record
	add := func(after time.Duration, e observe.Event) { records = appendLater(records, after, e) }
	wrote := func(version string, removed bool) []observe.Written {
		return []observe.Written{{Resource: "sites.example.com", Namespace: "default", Name: "shop", ResourceVersion: version, Deleted: removed}}
	}
	sync := func(id uint64) *observe.Synced {
		return &observe.Synced{Controller: operator, Queue: "site", ID: id, Key: "default/shop", KeyBasis: observe.BasisQueue, Add: id, Sure: true, Took: time.Millisecond, CauseSync: id - 1}
	}
	add(0, &observe.Delivered{Controller: operator, Change: observe.Added, Object: site, ResourceVersion: "1", Queues: []string{"site"}, Adds: []uint64{1}})
	waits := sync(1)
	waits.Cause, waits.Retried = 1, true
	add(time.Millisecond, waits)
	waits.Due = records[1].Time.Add(5 * time.Second)
	add(time.Millisecond, &observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{}, Verb: "delete", Object: site, Status: 200, ResourceVersion: "2", Wrote: wrote("2", false)})
	add(5*time.Second, &observe.Called{Controller: operator, Client: &observe.Caller{}, Verb: "patch", Object: site, Status: 200, ResourceVersion: "2", Sync: 2, Wrote: wrote("3", true)})
	add(0, sync(2))
	chain, err := Why(records, site, Options{What: Deleted})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(writeString(t, chain, Text, Style{})), " ")
	if want := "shop-operator/site patched Site shop, which removed the object, because the sync before had asked to be requeued after 5.0 s."; !strings.Contains(text, want) {
		t.Errorf("want %q in\n%s", want, text)
	}
}
