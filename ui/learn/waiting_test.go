package learn

import (
	"bytes"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/ui"
)

// A wait names each check once, and again when a period is over.
func TestWaitsAreNamed(t *testing.T) {
	var out bytes.Buffer
	r := &runner{lesson: &Lesson{}, shell: &shell{namespace: "lesson-1"}}
	r.console = &console{style: style{ui.Mode{}}, out: &out}
	said := &unmetCheck{&Check{Object: "pod/a", Say: "There is a Pod in $NS."}, value{absent: true}}
	unsaid := &unmetCheck{&Check{Object: "pod/b"}, value{absent: true}}
	a := r.newAwaited(time.Hour)
	a.tellIfSlow([]*unmetCheck{said})
	if out.Len() > 0 {
		t.Errorf("said at once: %q", &out)
	}
	a.began = a.began.Add(-slowWait)
	for _, m := range []*unmetCheck{said, said, unsaid, said} {
		a.tellIfSlow([]*unmetCheck{m})
	}
	a.period = 0
	a.tellIfSlow([]*unmetCheck{said})
	want := "Waiting for “There is a Pod in lesson-1” …\nWaiting: pod/b does not exist.\nStill waiting for “There is a Pod in lesson-1” …\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", &out, want)
	}
}
