package container

import (
	"fmt"
	"strings"
	"testing"
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
	allocations := testing.AllocsPerRun(100, func() {
		if CanRun(c, c.Command) {
			t.Fatal("it can run")
		}
	})
	if allocations > 20 { // to parse the script takes one for each program
		t.Errorf("another verdict of the same script makes %v allocations", allocations)
	}
}
