package rest

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"reflect"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

func TestQueryEncoding(t *testing.T) {
	for name, q := range map[string]observe.Query{
		"empty":   {},
		"all":     {After: 7, Controller: "job-controller", Sync: 9, Notable: true, Reads: true, Causes: true, Limit: 3, Kinds: []observe.Kind{observe.KindCalled, observe.KindSynced}},
		"numbers": {Controller: "0", Object: &observe.Object{Group: "0", Resource: "false", Namespace: "0", Name: "false", UID: "0"}},
	} {
		got, err := decodeQuery(encodeQuery(q))
		if err != nil || !reflect.DeepEqual(got, q) {
			t.Errorf("%s: got %+v and %v, want %+v", name, got, err, q)
		}
	}
}

func TestInvalidLimits(t *testing.T) {
	for _, limit := range []string{"0", "-1", "x", ""} {
		if q, err := decodeQuery(url.Values{"limit": {limit}}); err == nil {
			t.Errorf("limit %q: %+v", limit, q)
		}
	}
}

func TestSnapshotHasTheFailingKeysThatAreAskedFor(t *testing.T) {
	testutil.RequireFineClock(t)
	o := observe.New(observe.Options{})
	defer o.Close()
	for i := range 50 {
		o.Recorder("operator").ReportedQueue("q").End(&observe.Synced{Key: fmt.Sprint("default/", i), Error: "no"}, time.Now())
	}
	srv := httptest.NewServer(Handler(Services{Source: o, Nodes: fakeNodes{}}))
	defer srv.Close()
	client, err := NewClient(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	for _, keys := range [][]string{nil, {"default/3"}, {"default/3", "default/4"}} {
		s, err := client.SnapshotWithKeys(t.Context(), keys...)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(s.Controllers[0].Failing); got != 10+len(keys) {
			t.Errorf("%q: %d failing keys", keys, got)
		}
	}
}
