package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/observe"
)

// The page of the first built-in controller is named below the hot loops, once.
func TestHotLoopsNameThePageOfTheController(t *testing.T) {
	loop := func(controller string) assert.HotLoop {
		return assert.HotLoop{Controller: controller, Queue: "q", Key: "default/web", Rounds: 141, Interval: 31 * time.Millisecond}
	}
	for _, tc := range []struct {
		loops []assert.HotLoop
		want  int
	}{
		{[]assert.HotLoop{loop("shop/site"), loop("deployment-controller"), loop("replicaset-controller")}, 1},
		{[]assert.HotLoop{loop("shop/site")}, 0},
		{nil, 0},
	} {
		var out strings.Builder
		if err := (&target{name: "a"}).printHotLoops(&out, tc.loops, 0); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if strings.Count(text, "explain ") != tc.want || tc.want > 0 && !strings.Contains(text, `--name a explain deployment" says how that controller works`) {
			t.Errorf("got %s", text)
		}
	}
}

// A long hot loop is broken into lines of the status, but not for wait settled, whose lines say one thing each.
func TestHotLoopsAreWrapped(t *testing.T) {
	loops := []assert.HotLoop{{
		Controller: "shop-operator (system:serviceaccount:shop:operator)", Queue: "q", Key: "default/web", Rounds: 141, Interval: 31 * time.Millisecond,
		Fields: []string{"status.lastSeen", "status.conditions[0].lastTransitionTime"}, Wrote: &observe.Object{Kind: "Shop", Namespace: "default", Name: "web"},
	}}
	for width, want := range map[int]int{0: 1, 100: 3, 80: 3} {
		var out strings.Builder
		if err := (&target{name: "a"}).printHotLoops(&out, loops, width); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		for i, line := range lines {
			if width > 0 && len(line) > width || i > 0 && !strings.HasPrefix(line, "  ") {
				t.Errorf("in %d columns: %q", width, line)
			}
		}
		if text := strings.Join(strings.Fields(out.String()), " "); len(lines) != want || text != "hot loop: "+loops[0].String() {
			t.Errorf("in %d columns: %d lines: %s", width, len(lines), text)
		}
	}
}

// The width of a terminal on which another program shows the tables is in COLUMNS. The tests have no terminal.
func TestColumnsCountWithoutTerminal(t *testing.T) {
	for columns, want := range map[string]int{"": math.MaxInt, "x": math.MaxInt, "0": math.MaxInt, "92": 92, "40": 80, "200": 100} {
		t.Setenv("COLUMNS", columns)
		if got := statusWidth(); got != want {
			t.Errorf("COLUMNS=%q: %d columns", columns, got)
		}
	}
}
