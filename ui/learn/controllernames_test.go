package learn

import (
	"slices"
	"testing"
)

// TestControllerNames checks that lessons name the controllers that they are about, or their
// aliases: a page beside a lesson shows them.
func TestControllerNames(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"03-queue": "deployment", "05-owners": "garbagecollector", "06-finalizers": "namespace-controller",
		"07-node": "taint-eviction-controller", "08-expectations": "replicaset",
	} {
		lesson, err := Find(all, name)
		if err != nil {
			t.Fatal(err)
		}
		if got := lesson.ControllerNames(); !slices.Contains(got, want) {
			t.Errorf("lesson %s: %q does not contain %s", name, got, want)
		}
	}
}

func TestControllerNamesInProse(t *testing.T) {
	lesson := &Lesson{Steps: []*Step{{Parts: []Part{Prose{1, "The job-controller asks the ttl-after-finished-controller."}}}}}
	want := []string{"job-controller", "ttl-after-finished-controller"}
	if got := lesson.ControllerNames(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A control plane of another version may have other controllers than this program.
func TestControllersThatAControlPlaneLacks(t *testing.T) {
	p := &controlPlane{controllerNames: map[string]string{"job": "job-controller", "job-controller": "job-controller"}}
	l := &Lesson{Steps: []*Step{{Parts: []Part{&Show{Line: 7, Held: "jobs"}, &Show{Line: 9, Held: "job"}, &Show{Line: 11, Log: "operator/site"}}}}}
	if err := p.checkControllerNames(l); err == nil || err.Error() != `line 7: unknown controller "jobs": did you mean "job"?` {
		t.Errorf("got %v", err)
	}
}
