//go:build !windows

package terminal_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestLiveView uses the live view of a persistent control plane.
func TestLiveView(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	v := startLiveView(t, "--data-dir", dir)
	v.requireFullScreen(t)
	v.awaitFilled(t, 160, 45)
	program.CreateWeb(t, dir, 20)
	for _, step := range []struct {
		name string
		do   func(*testing.T, *terminal)
	}{
		{"queues", checkQueues}, {"feed", filterFeed}, {"filter and pages", openPages},
		{"sizes", changeSize}, {"help", readHelp},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.do(t, v) }) {
			return // the next step expects the screen that this one leaves
		}
	}
	t.Run("leave it running", func(t *testing.T) { leaveRunning(t, v, dir) })
}

func checkQueues(t *testing.T, v *terminal) {
	for _, controller := range []string{"deployment", "replicaset", "endpointslice"} {
		// The time of work is shown only for queues that had keys.
		v.awaitRow(t, `^.`+controller+` +running .* [0-9.]+(µs|ms|s)\b`)
	}
	v.awaitText(t, "● settled")
}

func filterFeed(t *testing.T, v *terminal) {
	v.pressKeys(t, keyTab+"/deployment create")
	v.awaitRow(t, `deployment +create  ReplicaSet default/web-`)
	v.awaitTextGone(t, "create  Pod ")
	v.pressEscape(t, "/deployment create, ")
	v.pressKeys(t, "/replicaset-c create"+keyEnter) // hides the bindings of the same Pods, which fill the screen
	v.awaitRow(t, `replicaset +create  Pod default/web-`)
	v.awaitTextGone(t, "create  ReplicaSet ")
	v.pressEscape(t, "/replicaset-c create, ")
	v.pressKeys(t, keyTab)
}

func openPages(t *testing.T, v *terminal) {
	v.pressKeys(t, "/replicaset"+keyEnter)
	v.awaitText(t, "/replicaset, ")
	v.awaitRow(t, `^.replicaset +running`)
	v.awaitTextGone(t, " statefulset ")
	v.pressKeys(t, keyEnter)
	v.awaitText(t, "Controller replicaset-controller ")
	v.awaitRow(t, `in work +\d+ workers are free`)
	v.pressKeys(t, "/pod 201")
	v.awaitRow(t, `^▌[0-9:.]+ .*create  Pod default/web-`)
	v.pressKeys(t, keyEnter+keyEnter)
	v.awaitRow(t, `status +201 after `) // the line in full
	v.pressKeys(t, "w")
	v.awaitRow(t, `Why Pod default/web-`)
	v.awaitRow(t, `replicaset-controller created Pod web-`)
	v.pressKeys(t, keyEnter)
	v.awaitRow(t, `^.Pod default/web-`)
	v.awaitRow(t, `owner +ReplicaSet default/web-`)
	v.pressKeys(t, "e")
	v.awaitText(t, "pod-template-hash: ")
	v.pressKeys(t, "e")
	v.awaitTextGone(t, "pod-template-hash: ")
	v.pressEscape(t, " owner ")
	v.pressEscape(t, "/pod 201, ")
	v.pressEscape(t, "Controller replicaset-controller ")
	v.pressEscape(t, "/replicaset, ")
	v.awaitText(t, " statefulset ")
	v.pressKeys(t, ":deploy"+keyEnter)
	v.awaitRow(t, `default/web-\S+ +● Current`)
	v.pressEscape(t, "● Current")
	v.pressKeys(t, "[")
	v.awaitText(t, "speed ½×")
	v.pressKeys(t, "]")
	v.awaitTextGone(t, "speed ½×")
}

func changeSize(t *testing.T, v *terminal) {
	for _, size := range [][2]int{{60, 15}, {160, 45}, {80, 24}, {40, 10}, {160, 45}} {
		v.resize(t, size[0], size[1])
		v.awaitFilled(t, size[0], size[1])
	}
	v.resize(t, 39, 9)
	v.awaitText(t, "terminal too small")
	v.resize(t, 160, 45)
	v.awaitFilled(t, 160, 45)
}

func readHelp(t *testing.T, v *terminal) {
	v.pressKeys(t, "?")
	v.awaitText(t, "LAST MINUTE")
	v.pressKeys(t, "G")
	v.awaitText(t, "quit the view")
	v.pressKeys(t, keyEsc[:1]) // as most terminals send it
	v.awaitTextGone(t, "quit the view")
	v.awaitFilled(t, 160, 45)
}

func leaveRunning(t *testing.T, v *terminal, dir string) {
	v.pressKeys(t, "q")
	v.pressEscape(t, "Stop the control plane?")
	v.pressKeys(t, "q")
	v.awaitText(t, "Stop the control plane?")
	v.pressKeys(t, "l")
	v.awaitText(t, "The control plane keeps running.")
	v.requireRestored(t)
	if now := v.Text(); !strings.Contains(now, "The control plane keeps running.") {
		t.Errorf("what happened before pushes off the screen how to go on:\n%s", now)
	}
	name := program.CreateWeb(t, dir, 3)
	v.awaitRow(t, `default/`+name) // of later output; the first lines may have scrolled off
	v.awaitRow(t, `  settled`)
	v.pressKeys(t, keyCtrlC)
	v.requireExit(t)
}

// TestTopInSeveralTerminals watches one control plane in several terminals.
func TestTopInSeveralTerminals(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	v := startLiveView(t, "--data-dir", dir)
	first, second := startTerminal(t, 120, 40, "top", "--data-dir", dir), startTerminal(t, 100, 30, "top", "--data-dir", dir)
	for _, top := range []*terminal{first, second} {
		top.awaitText(t, "● settled")
		top.requireFullScreen(t)
	}
	name := program.CreateWeb(t, dir, 3)
	for _, looks := range []*terminal{v, first, second} {
		looks.awaitRow(t, `^.[0-9:.]+ .* default/`+name) // any record of it
	}
	first.pressKeys(t, "q")
	first.requireExit(t)
	second.pressKeys(t, keyCtrlC)
	second.requireExit(t)
	third := startTerminal(t, 80, 24, "top", "--data-dir", dir)
	third.awaitText(t, "● settled")
	name = program.CreateWeb(t, dir, 2)
	v.awaitRow(t, `^.[0-9:.]+ .* default/`+name)

	// A start that fails does not change the terminal.
	again := startTerminal(t, 200, 24, "up", "--data-dir", dir)
	again.awaitText(t, "already running at")
	<-again.Done()
	again.requireRestored(t)

	v.pressKeys(t, "q")
	v.awaitText(t, "Stop the control plane?")
	v.pressKeys(t, "s")
	v.requireExit(t)
	third.awaitText(t, "cannot reach the control plane")
	third.pressKeys(t, "q")
	third.requireExit(t)
}

// TestLiveViewEnds stops control planes that show their live views; TestInterventionKeys does so by Ctrl-C.
func TestLiveViewEnds(t *testing.T) {
	t.Parallel()
	signal := func(s syscall.Signal) func(*testing.T, *terminal) {
		return func(t *testing.T, v *terminal) {
			program.Signal(t, v.cmd, s)
		}
	}
	for name, tc := range map[string]struct {
		args []string
		end  func(*testing.T, *terminal)
	}{
		"q, ephemeral": {[]string{"--ephemeral"}, func(t *testing.T, v *terminal) { v.pressKeys(t, "qs") }},
		"SIGTERM":      {nil, signal(syscall.SIGTERM)},
		"SIGINT":       {nil, signal(syscall.SIGINT)},
	} {
		t.Run(name, func(t *testing.T) {
			v := startLiveView(t, append(tc.args, minimal()...)...)
			v.requireFullScreen(t)
			tc.end(t, v)
			v.requireExit(t)
			v.requireScreenFromBefore(t)
		})
	}
}
