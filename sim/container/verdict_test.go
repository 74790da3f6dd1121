package container

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestVerdictOfLargeScript has a script with many programs that are not known.
func TestVerdictOfLargeScript(t *testing.T) {
	var script strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&script, "unknown-%d\n", i)
	}
	pod := newPod("sh", "-c", script.String())
	c := &pod.Spec.Containers[0]
	if got := UnknownPrograms(c, c.Command); len(got) != 20 || got[0] != "unknown-0" {
		t.Errorf("got %q", got)
	}
	start := time.Now()
	for range 100 {
		if CanRun(c, c.Command) {
			t.Fatal("it can run")
		}
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("100 verdicts of one script took %v", took)
	}
}
