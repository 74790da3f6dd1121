package observe

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// The JSON form is documented: a change of a line here breaks its users.
func TestRecordJSON(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000000, time.UTC)
	const head = `{"seq":7,"time":"2026-01-02T03:04:05.006Z","kind":`
	web := Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web", UID: "u"}
	const object = `{"group":"apps","resource":"deployments","kind":"Deployment","namespace":"default","name":"web","uid":"u"}`
	for want, e := range map[string]Event{
		`"bootStep","step":"etcd","tookNanos":5,"error":"no"}`:                                                                    &BootStep{"etcd", 5, "no"},
		`"controllerChanged","controller":"c","state":"off","reason":"stopped"}`:                                                  &ControllerChanged{Controller: "c", State: "off", Reason: "stopped"},
		`"queueChanged","controller":"c","queue":"q","depth":1,"maxDepth":2,"inFlight":3,"adds":4,"gets":5,"done":6,"retries":7}`: &QueueChanged{"c", "q", 1, 2, 3, 4, 5, 6, 7},
		`"delivered","controller":"c","alsoTo":["d"],"change":"added","object":` + object + `,"resourceVersion":"9","queues":["q"],"adds":[6],"deleting":true,"became":"Ready","later":[{"queue":"q","due":"2026-01-02T03:04:05.006Z"}],"tookNanos":5,"takenBy":"b","noExecute":{"taints":["k=v:NoExecute"],"tolerations":[{"key":"k","operator":"Exists","value":"v","seconds":1}]}}`: &Delivered{
			Controller: "c", AlsoTo: []string{"d"}, Change: Added, Object: web, ResourceVersion: "9", Queues: []string{"q"}, Adds: []uint64{6}, Deleting: true, Became: BecameReady, Later: []DelayedKey{{"q", at}}, Took: 5, TakenBy: "b",
			NoExecute: &NoExecute{Taints: []string{"k=v:NoExecute"}, Tolerations: []Toleration{{"k", "Exists", "v", new(int64(1))}}}},
		`"called","failed":true,"controller":"c","verb":"update","object":` + object + `,"subresource":"status","status":409,"began":"2026-01-02T03:04:05.006Z","tookNanos":5,"conflict":true,"error":"no","wrote":[{"resource":"replicasets.apps","namespace":"default","name":"a","resourceVersion":"9","deleted":true}],"sync":3,"afterSync":2,"takenBy":"b"}`: &Called{
			Controller: "c", Verb: "update", Object: web, Subresource: "status", Status: 409, Began: at, Took: 5, Conflict: true, Error: "no", Sync: 3, AfterSync: 2, TakenBy: "b",
			Wrote: []Written{{"replicasets.apps", "default", "a", "9", true, nil}}},
		`"synced","failed":true,"controller":"c","queue":"q","id":3,"key":"default/web","keyBasis":"log","add":6,"lastAdd":7,"cause":2,"causeSync":1,"timed":true,"sure":true,"waitedNanos":4,"tookNanos":5,"retried":true,"due":"2026-01-02T03:04:05.006Z","error":"no","reads":1,"writes":2}`: &Synced{
			"c", "q", 3, "default/web", BasisLog, 6, 7, 2, 1, true, true, 4, 5, true, at, "no", 1, 2},
		`"logged","controller":"c","level":-4,"message":"m","attrs":[{"key":"k","value":"v"}],"sync":3}`: &Logged{"c", -4, "m", []Attr{{"k", "v"}}, 3},
	} {
		r := Record{Seq: 7, Time: at, Event: e}
		got, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != head+want {
			t.Errorf("got  %s\nwant %s%s", got, head, want)
		}
		var back Record
		testutil.DecodeJSON(t, got, &back)
		if diff := cmp.Diff(r, back, cmpopts.IgnoreUnexported(Record{})); diff != "" {
			t.Errorf("-written +read:\n%s", diff)
		}
	}
}

func TestEveryKindHasAnEvent(t *testing.T) {
	for _, k := range Kinds {
		e, err := newEvent(k)
		if err != nil || e.Kind() != k {
			t.Errorf("%s: %v, %v", k, e, err)
		}
	}
	var r Record
	if err := json.Unmarshal([]byte(`{"seq":1,"kind":"unheard"}`), &r); err == nil || !strings.Contains(err.Error(), `unknown kind "unheard"`) {
		t.Errorf("unknown kind: got error %v", err)
	}
	if _, err := json.Marshal(Record{Seq: 1}); err == nil {
		t.Error("a record without an event was encoded")
	}
}
