package main

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/health/assert"
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
		if err := (&target{name: "a"}).printHotLoops(&out, tc.loops); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if strings.Count(text, "explain ") != tc.want || tc.want > 0 && !strings.Contains(text, `--name a explain deployment" says how that controller works`) {
			t.Errorf("got %s", text)
		}
	}
}
