package learn

import (
	"bytes"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/ui"
)

// A build takes minutes and prints nothing: skip says so, also while it sets up the lesson again.
func TestSlowTasksAreAnnounced(t *testing.T) {
	for within, want := range map[time.Duration]string{
		90 * time.Second: "",
		10 * time.Minute: "Running \"cd .\", which may take some minutes …\n",
	} {
		var out bytes.Buffer
		r := &runner{lesson: &Lesson{}, shell: &shell{dir: t.TempDir()}, replaying: true}
		r.console = &console{style: style{ui.Mode{}}, out: &out}
		if err := r.performDo(t.Context(), &Do{Run: Commands{"cd ."}, Within: within}); err != nil || out.String() != want {
			t.Errorf("%v: %v, got %q, want %q", within, err, &out, want)
		}
	}
}
