package observe

import (
	"encoding/json"
	"strings"
	"testing"
)

// A controller that deletes an object which another one has deleted before has not failed.
func TestDeletionOfAMissingObjectIsNoError(t *testing.T) {
	for _, tc := range []struct {
		verb   string
		status int
		err    string
		want   int64
	}{
		{"delete", 404, `pods "a" not found`, 0}, {"delete", 403, "refused", 1}, {"update", 404, `pods "a" not found`, 1}, {"delete", 404, InjectedFault, 1},
		{"delete", 404, "the server could not find the requested resource", 1},
	} {
		o := New(Options{})
		r := o.Recorder("kubelet")
		c := &Called{Verb: tc.verb, Status: tc.status, Error: tc.err, Object: Object{Resource: "pods"}}
		r.RecordCall(c)
		if got := snapshotOf(t, o, "kubelet").Errors; got != tc.want {
			t.Errorf("%s %d %s: %d errors, want %d", tc.verb, tc.status, tc.err, got, tc.want)
		}
		line, err := json.Marshal(Record{Seq: 1, Event: c})
		if err != nil || strings.Contains(string(line), `"failed":true`) != (tc.want == 1) {
			t.Errorf("%s %d %s: %v, in JSON %s", tc.verb, tc.status, tc.err, err, line)
		}
	}
}
