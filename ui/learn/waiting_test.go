package learn

import (
	"bytes"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
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

// A wait that ended says what is missing, and not that this does not hold.
func TestEndedWaitSaysWhatIsMissing(t *testing.T) {
	server := httptest.NewServer(&process{started: time.Now()})
	defer server.Close()
	control, err := controlrest.NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	p := &probe{controlPlane: &controlPlane{control: control}, shell: &shell{namespace: "lesson-1"}}
	r := &runner{lesson: &Lesson{}, plane: p.controlPlane, probe: p, shell: p.shell}
	r.console = &console{style: style{ui.Mode{}}, out: io.Discard}
	for want, check := range map[string]*Check{
		"The Job was not created: create it":          {Missing: "The Job was not created: create it."},
		"“It is synced”: queue nosuch does not exist": {Say: "It is synced."},
		"queue nosuch does not exist":                 {},
	} {
		check.Queue, check.Of = "nosuch", "adds"
		if err := r.requireChecks(t.Context(), []*Check{check}, time.Millisecond); err == nil || !strings.HasSuffix(err.Error(), ": "+want) || strings.Contains(err.Error(), "not hold") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
