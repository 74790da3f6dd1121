//go:build unix

package main

import (
	"bufio"
	"io"
	"testing"
	"time"
)

// An operator that ignores SIGTERM is killed, and dev says so.
func TestStopSaysThatItKilled(t *testing.T) {
	for script, tt := range map[string]struct {
		grace time.Duration
		exits bool
		want  string
	}{
		"trap '' TERM; echo ready; while :; do sleep 0.01; done":                           {100 * time.Millisecond, false, "[dev] warning: the operator was killed: it had not ended 100ms after it was asked to\n"},
		"(trap '' TERM; echo ready; exec >/dev/null 2>&1; while :; do sleep 0.01; done) &": {100 * time.Millisecond, true, "[dev] warning: processes that the operator's command has started were killed: they had not ended 100ms after they were asked to\n"},
		"echo ready; exec sleep 1000":                                                      {killGrace, false, ""},
	} {
		out, to := io.Pipe()
		p := devProgram{args: []string{"sh", "-c", script}, output: newDevOutput(to, viewPlain), grace: tt.grace}
		c, err := p.newProcess(p.args)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.command.startProcess(); err != nil {
			t.Fatal(err)
		}
		c.begun = true
		lines := bufio.NewReader(out)
		if line, err := lines.ReadString('\n'); line != "[operator] ready\n" {
			t.Fatalf("got %q, %v", line, err)
		}
		if tt.exits {
			<-c.command.exited
		}
		go func() {
			c.Stop()
			to.Close()
		}()
		if got, err := io.ReadAll(lines); string(got) != tt.want || err != nil {
			t.Errorf("%s: got %q, want %q, %v", script, got, tt.want, err)
		}
	}
}
