package rest

import (
	"reflect"
	"testing"

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
