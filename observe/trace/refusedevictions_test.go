package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// An eviction that a PodDisruptionBudget has refused before names it. Those of an earlier Pod, and those that were refused
// for another reason, do not count.
func TestRefusedEvictions(t *testing.T) {
	const violates = "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget "
	var records []observe.Record
	web := pod("web-0")
	write := func(verb, subresource string, status int, message, version string, deleted bool) {
		c := &observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{}, Verb: verb, Subresource: subresource, Object: web, Status: status, Error: message}
		if version != "" {
			c.Wrote = []observe.Written{{Resource: "pods", Namespace: "default", Name: "web-0", ResourceVersion: version, Deleted: deleted}}
		}
		records = appendLater(records, time.Second, c)
	}
	evict := func(status int, message, version string) {
		write("create", "eviction", status, message, version, version != "")
	}
	why := func() string {
		t.Helper()
		chain, err := Why(records, web, Options{What: Deleted})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(writeString(t, chain, Text, Style{})), " ")
	}
	write("create", "", 201, "", "1", false)
	evict(429, violates+"old needs 1 healthy pods and has 1 currently", "")
	evict(201, "", "2")
	want := "Before, the API server had refused to evict it once, at 12:00:02.000: PodDisruptionBudget old needs 1 healthy pods and has 1 currently."
	if got := why(); !strings.Contains(got, want) {
		t.Errorf("one: %s", got)
	}
	write("create", "", 201, "", "3", false)
	evict(429, violates+"web needs 2 healthy pods and has 2 currently", "")
	evict(429, "too many requests, please try again later", "")
	evict(429, violates+"web needs 2 healthy pods and has 1 currently", "")
	evict(201, "", "4")
	want = "Before, the API server had refused to evict it 2 times, first at 12:00:05.000 and last at 12:00:07.000: PodDisruptionBudget web needs 2 healthy pods and has 1 currently."
	if got := why(); !strings.Contains(got, want) {
		t.Errorf("two: %s", got)
	}
	write("create", "", 201, "", "5", false)
	evict(429, violates+"web needs 2 healthy pods and has 2 currently", "")
	write("delete", "", 200, "", "6", true)
	if got := why(); strings.Contains(got, "refused to evict") {
		t.Errorf("a deletion: %s", got)
	}
}
