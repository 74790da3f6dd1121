package observe

import "testing"

// A controller that deletes an object which another one has deleted before has not failed.
func TestDeletionOfAMissingObjectIsNoError(t *testing.T) {
	for _, tc := range []struct {
		verb   string
		status int
		want   int64
	}{{"delete", 404, 0}, {"delete", 403, 1}, {"update", 404, 1}} {
		o := New(Options{})
		r := o.Recorder("kubelet")
		r.RecordCall(&Called{Verb: tc.verb, Status: tc.status, Error: "refused", Object: Object{Resource: "pods"}})
		if got := snapshotOf(t, o, "kubelet").Errors; got != tc.want {
			t.Errorf("%s %d: %d errors, want %d", tc.verb, tc.status, got, tc.want)
		}
	}
}
