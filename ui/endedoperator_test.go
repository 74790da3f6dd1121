package ui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestEndedOperatorLines(t *testing.T) {
	s := observe.Snapshot{Time: time.Now(), Process: observe.Process{Settled: true}}
	for reason, want := range map[string]string{
		"the operator exited with code 1: TypeError: x": "the operator of dev has not run for 15.0 s: it exited with code 1: TypeError: x; dev starts it again when a source changes",
		"the build failed: ./a.go:1:1: undefined: x":    "the operator of dev has not run for 15.0 s: the build failed: ./a.go:1:1: undefined: x; dev starts it again when a source changes",
	} {
		s.Process.EndedOperator = observe.EndedOperator{Time: s.Time.Add(-15 * time.Second), Reason: reason}
		if got := EndedOperatorLines(s); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got %q", reason, got)
		}
		if got := SettledWarnings(s, nil); !slices.Equal(got, []string{"settled, but " + want}) {
			t.Errorf("%s: got %q", reason, got)
		}
		if got, want := summarizeActivity(s), "settled, but the operator of dev does not run"; !strings.HasPrefix(got, want) {
			t.Errorf("got %q", got)
		}
	}
	s.Process.EndedOperator = observe.EndedOperator{}
	if got := EndedOperatorLines(s); got != nil {
		t.Errorf("got %q while it runs", got)
	}
}
