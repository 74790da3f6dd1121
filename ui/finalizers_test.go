package ui

import (
	"slices"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// Of an object that its finalizer holds it is said what the operator that has added it did since, if that is not an error.
func TestWhySaysWhoHasNotRemovedAFinalizer(t *testing.T) {
	start := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	site := observe.Object{Kind: "Site", Resource: "sites", Group: "example.com", Namespace: "shop", Name: "a"}
	call := func(second int, client, verb string, deleted bool) observe.Record {
		at := start.Add(time.Duration(second) * time.Second)
		manager := map[bool]string{true: "operator", false: "kubectl"}[observe.ProgramOf(client) != "kubectl"]
		return observe.Record{Seq: uint64(second), Time: at, Event: &observe.Called{
			Controller: client, Client: &observe.Caller{User: "bob"}, Verb: verb, Object: site, Status: 200, Began: at, FieldManager: manager,
			Wrote: []observe.Written{{Resource: "sites.example.com", Namespace: "shop", Name: "a", ResourceVersion: "7", Deleted: deleted}},
		}}
	}
	synced := func(second int, message string) observe.Record {
		return observe.Record{Seq: uint64(second), Time: start.Add(time.Duration(second) * time.Second), Event: &observe.Synced{
			Controller: "operator/site", Queue: "site", Key: "shop/a", KeyBasis: observe.BasisQueue, Took: time.Millisecond, Error: message}}
	}
	created, deleted, added, addedInSync := call(1, "kubectl (bob)", "create", false), call(5, "kubectl (bob)", "delete", false), call(2, "operator (bob)", "update", false), call(2, "operator/site", "update", false)
	running := observe.Controller{Name: "operator/site", State: observe.StateRunning}
	busy := running
	busy.Running = []observe.RunningSync{{Queue: "site", Key: "shop/a", KeyBasis: observe.BasisQueue, Since: start.Add(14500 * time.Millisecond)}}
	plain := func(last int) observe.Client {
		return observe.Client{Name: "operator (bob)", Caller: observe.Caller{User: "bob"}, LastTime: start.Add(time.Duration(last) * time.Second), Watches: []observe.ClientWatch{{Resource: "sites.example.com"}}}
	}
	ended, paused, withModule := plain(2), plain(2), plain(9)
	withModule.Controllers = []string{"operator/site"}
	ended.Watches, paused.Reason = nil, "its writes are held"
	byOperator, unknown := []health.Finalizer{{Name: "example.com/cleanup", Manager: "operator"}}, []health.Finalizer{{Name: "example.com/cleanup"}}
	const which = ", which added the finalizer example.com/cleanup,"
	const inVain = " has synced it since the deletion was requested, last at 12:00:09.000, without an error and without changing it."
	const silent = "operator (bob)" + which + " has made no request since the deletion was requested 10.0 s ago."
	for name, tc := range map[string]struct {
		records    []observe.Record
		finalizers []health.Finalizer
		controller observe.Controller
		client     observe.Client
		want       []string
	}{
		"synced in vain":             {[]observe.Record{created, addedInSync, deleted, synced(6, ""), synced(9, "")}, byOperator, running, observe.Client{}, []string{"operator/site" + which + inVain}},
		"it is not known who added":  {[]observe.Record{created, addedInSync, deleted, synced(9, "")}, unknown, running, observe.Client{}, []string{"operator/site" + inVain}},
		"another one's":              {[]observe.Record{created, addedInSync, deleted, synced(9, "")}, []health.Finalizer{{Name: "example.com/hold", Manager: "kubectl"}}, running, observe.Client{}, nil},
		"synced before only":         {[]observe.Record{created, addedInSync, synced(4, ""), deleted}, byOperator, running, observe.Client{}, nil},
		"fails":                      {[]observe.Record{created, addedInSync, deleted, synced(8, ""), synced(9, "no network")}, byOperator, running, observe.Client{}, nil},
		"has changed it since":       {[]observe.Record{created, addedInSync, deleted, call(8, "operator/site", "update", false), synced(9, "")}, byOperator, running, observe.Client{}, nil},
		"its client has changed it":  {[]observe.Record{created, addedInSync, deleted, call(8, "operator (bob)", "update", false), synced(9, "")}, byOperator, running, withModule, nil},
		"two programs of one name":   {[]observe.Record{created, added, call(3, "operator (eve)", "update", false), deleted}, byOperator, running, plain(2), nil},
		"is being synced":            {[]observe.Record{created, addedInSync, deleted, synced(9, "")}, byOperator, busy, observe.Client{}, nil},
		"does not run":               {[]observe.Record{created, addedInSync, deleted, synced(9, "")}, byOperator, observe.Controller{}, observe.Client{}, nil},
		"no request since":           {[]observe.Record{created, added, deleted}, byOperator, running, plain(2), []string{silent}},
		"a request since":            {[]observe.Record{created, added, deleted}, byOperator, running, plain(6), nil},
		"has ended":                  {[]observe.Record{created, added, deleted}, byOperator, running, ended, nil},
		"is paused":                  {[]observe.Record{created, added, deleted}, byOperator, running, paused, nil},
		"is not deleted":             {[]observe.Record{created, added}, byOperator, running, plain(2), nil},
		"just deleted":               {[]observe.Record{created, added, call(12, "kubectl (bob)", "delete", false)}, byOperator, running, plain(2), nil},
		"deleted and created again":  {[]observe.Record{created, added, deleted, call(6, "operator (bob)", "update", true), call(7, "kubectl (bob)", "create", false)}, byOperator, running, plain(2), nil},
		"by the user of the cluster": {[]observe.Record{created, added, deleted}, unknown, running, plain(2), nil},
	} {
		now := observe.Snapshot{Time: start.Add(15 * time.Second), Controllers: []observe.Controller{tc.controller}, Clients: []observe.Client{tc.client}}
		got := describeFinalizers(now, tc.records, site, &health.Deletion{Finalizers: tc.finalizers}, trace.Style{})
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
