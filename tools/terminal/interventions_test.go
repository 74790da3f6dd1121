//go:build !windows

package terminal_test

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// stepTitle matches the title above the changes of a step.
var stepTitle = regexp.MustCompile(`(?m)^.replicaset: (create|update) .*: 20\d \w+`)

// TestInterventionKeys uses the keys of the live view that intervene in a controller.
func TestInterventionKeys(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	v := startLiveView(t, "--data-dir", dir)
	v.pressKeys(t, "/replicaset"+keyEnter)
	v.awaitRow(t, `^.replicaset +running`)
	v.pressKeys(t, "p")
	v.awaitText(t, "changed manually")
	v.awaitRow(t, `^.replicaset +paused`)
	name := program.CreateWeb(t, dir, 3)
	v.pressKeys(t, keyEnter)
	v.awaitText(t, "Controller replicaset-controller ")
	v.awaitRow(t, `→ create Pod default/`+name)
	v.pressKeys(t, "s")
	v.awaitRow(t, `last step +create Pod default/`+name+`.*: 201 Created`)
	v.awaitRow(t, `^ +\+kind: Pod`)
	v.pressKeys(t, "d")
	v.awaitText(t, "+++ Pod default/"+name)
	first := stepTitle.FindString(v.Text())
	v.pressKeys(t, "s")
	v.awaitScreen(t, "next step", func(text string) bool {
		next := stepTitle.FindString(text)
		return next != "" && next != first
	})
	v.pressEscape(t, stepTitle.FindString(v.Text()))
	v.awaitText(t, "Controller replicaset-controller ")
	v.pressKeys(t, "p")
	v.awaitTextGone(t, "changed manually")
	v.awaitText(t, "● settled")
	v.pressKeys(t, "x")
	v.pressEscape(t, "Stop replicaset-controller?")
	v.pressKeys(t, "x")
	v.awaitText(t, "Stop replicaset-controller?")
	v.pressKeys(t, "y")
	v.awaitRow(t, `changed manually: replicaset-controller is stopped`)
	v.pressKeys(t, "x")
	v.awaitText(t, "Start replicaset-controller?")
	v.pressKeys(t, "y")
	v.awaitTextGone(t, "changed manually")
	v.requireFullScreen(t)
	v.pressKeys(t, keyCtrlC)
	v.requireExit(t)
	v.requireScreenFromBefore(t)
}
