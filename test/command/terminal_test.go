//go:build !windows

package command_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTerminal uses the live view of a control plane that is kept.
func TestTerminal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	v := viewUp(t, "--data-dir", dir)
	v.took(t)
	v.fills(t, 160, 45)
	web(t, dir, 20)
	for _, step := range []struct {
		name string
		do   func(*testing.T, *viewer)
	}{
		{"queues", queuesMoved}, {"feed", filterFeed}, {"filter and pages", openPages},
		{"sizes", changeSize}, {"help", readHelp},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.do(t, v) }) {
			return // the next would begin on a screen that it does not know
		}
	}
	t.Run("leave it running", func(t *testing.T) { leaveRunning(t, v, dir) })
}

func queuesMoved(t *testing.T, v *viewer) {
	for _, queue := range []string{"deployment", "replicaset", "endpoint_slice"} {
		// How long keys waited is known only of a queue that had some.
		v.matches(t, `^.\S+-controller +`+queue+` +running .* [0-9.]+(µs|ms|s)\b`)
	}
	v.shows(t, "● settled")
}

func filterFeed(t *testing.T, v *viewer) {
	v.press(t, keyTab+"/deployment create")
	v.matches(t, `deployment-controller +create  ReplicaSet default/web-`)
	v.hides(t, "create  Pod ")
	v.escape(t, "/deployment create, ")
	v.press(t, "/replicaset-c create"+keyEnter) // without the bindings of the same Pods, which fill the screen
	v.matches(t, `replicaset-controller +create  Pod default/web-`)
	v.hides(t, "create  ReplicaSet ")
	v.escape(t, "/replicaset-c create, ")
	v.press(t, keyTab)
}

func openPages(t *testing.T, v *viewer) {
	v.press(t, "/replicaset"+keyEnter)
	v.shows(t, "/replicaset, ")
	v.matches(t, `^.replicaset-controller +replicaset +running`)
	v.hides(t, " deployment ")
	v.press(t, keyEnter)
	v.shows(t, "Controller replicaset-controller ")
	v.matches(t, `last syncs +replicaset: default/web-`)
	v.press(t, "/pod 201")
	v.matches(t, `^▌[0-9:.]+ .*create  Pod default/web-`)
	v.press(t, keyEnter+keyEnter)
	v.matches(t, `^.Pod default/web-`)
	v.matches(t, `owner +ReplicaSet default/web-`)
	v.press(t, "y")
	v.shows(t, "pod-template-hash: ")
	v.press(t, "y")
	v.hides(t, "pod-template-hash: ")
	v.escape(t, " owner ")
	v.escape(t, "/pod 201, ")
	v.escape(t, "Controller replicaset-controller ")
	v.escape(t, "/replicaset, ")
	v.shows(t, " deployment ")
}

func changeSize(t *testing.T, v *viewer) {
	for _, size := range [][2]int{{60, 15}, {160, 45}, {80, 24}, {40, 10}, {160, 45}} {
		v.resize(t, size[0], size[1])
		v.fills(t, size[0], size[1])
	}
	v.resize(t, 39, 9)
	v.shows(t, "terminal too small")
	v.resize(t, 160, 45)
	v.fills(t, 160, 45)
}

func readHelp(t *testing.T, v *viewer) {
	v.press(t, "?")
	v.shows(t, "leave the view")
	v.shows(t, "LAST MINUTE")
	v.escape(t, "leave the view")
	v.fills(t, 160, 45)
}

func leaveRunning(t *testing.T, v *viewer, dir string) {
	v.press(t, "q")
	v.escape(t, "Stop the control plane?")
	v.press(t, "q")
	v.shows(t, "Stop the control plane?")
	v.press(t, "l")
	v.shows(t, "It runs on: ")
	v.gaveBack(t)
	if now := v.Text(); !strings.Contains(now, "It runs on: ") {
		t.Errorf("what happened before pushes off the screen how to go on:\n%s", now)
	}
	name := web(t, dir, 3)
	v.matches(t, `default/`+name) // of what goes on afterwards; much of it has scrolled off by the time one looks
	v.matches(t, `  settled`)
	v.press(t, keyCtrlC)
	v.ends(t)
}

// TestTerminalTop looks at one control plane from several terminals.
func TestTerminalTop(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	v := viewUp(t, "--data-dir", dir)
	first, second := view(t, 120, 40, "top", "--data-dir", dir), view(t, 100, 30, "top", "--data-dir", dir)
	for _, top := range []*viewer{first, second} {
		top.shows(t, "● settled")
		top.took(t)
	}
	name := web(t, dir, 3)
	for _, looks := range []*viewer{v, first, second} {
		looks.matches(t, `^.[0-9:.]+ .* default/`+name) // whichever is the last that happened
	}
	first.press(t, "q")
	first.ends(t)
	second.press(t, keyCtrlC)
	second.ends(t)
	third := view(t, 80, 24, "top", "--data-dir", dir)
	third.shows(t, "● settled")
	name = web(t, dir, 2)
	v.matches(t, `^.[0-9:.]+ .* default/`+name)

	// A start that fails leaves the terminal alone.
	again := view(t, 200, 24, "up", "--data-dir", dir)
	again.shows(t, "in use by process")
	<-again.Ended()
	again.gaveBack(t)

	v.press(t, "q")
	v.shows(t, "Stop the control plane?")
	v.press(t, "s")
	v.ends(t)
	third.shows(t, "lost the control plane")
	third.press(t, "q")
	third.ends(t)
}

// TestTerminalEnds ends control planes under their live views.
func TestTerminalEnds(t *testing.T) {
	signal := func(s syscall.Signal) func(*testing.T, *viewer) {
		return func(t *testing.T, v *viewer) {
			if err := v.cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	press := func(keys string) func(*testing.T, *viewer) {
		return func(t *testing.T, v *viewer) { v.press(t, keys) }
	}
	for name, tc := range map[string]struct {
		args []string
		end  func(*testing.T, *viewer)
	}{
		"q, of one that is not kept": {[]string{"--ephemeral"}, press("q")},
		"Ctrl-C":                     {nil, press(keyCtrlC)},
		"SIGTERM":                    {nil, signal(syscall.SIGTERM)},
		"SIGINT":                     {nil, signal(syscall.SIGINT)},
	} {
		t.Run(name, func(t *testing.T) {
			v := viewUp(t, tc.args...)
			v.took(t)
			tc.end(t, v)
			v.ends(t)
			if screen := v.Text(); !strings.Contains(screen, "Ctrl-C stops it.") {
				t.Errorf("what was on the screen before the view is gone:\n%s", screen)
			}
		})
	}
}
