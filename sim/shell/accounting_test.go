package shell

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMemoryOfProcesses checks that what processes and pipes cost is counted: each command
// may have many of them, and there may be many commands.
func TestMemoryOfProcesses(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   int64
	}{
		"processes": {`for i in 1 2 3 4 5 6 7 8; do sleep infinity & done; wait`, 9 * procCost},
		"pipes":     {`for i in 1 2 3 4 5 6 7 8; do yes | sleep infinity & done; wait`, 8 * pipeSize},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				if _, err := Run(ctx, Config{Args: []string{"sh", "-c", c.script}, Limits: Limits{CPUShare: 1}}); err != nil {
					t.Error(err)
				}
			}()
			for held.Load() < c.want && ctx.Err() == nil {
				runtime.Gosched()
			}
			if ctx.Err() != nil {
				t.Errorf("%d bytes are counted, want at least %d", held.Load(), c.want)
			}
			cancel()
			<-ended
			if n := held.Load(); n != 0 {
				t.Errorf("%d bytes are still counted", n)
			}
		})
	}
}

// TestMemoryOfEscapes reads a line of which each character is escaped: which are is kept, too.
func TestMemoryOfEscapes(t *testing.T) {
	c := Config{Args: []string{"sh", "-c", "read line; echo ${#line}"}, Limits: Limits{Memory: 1 << 20, CPUShare: 100}}
	for _, n := range []int{1 << 10, 400 << 10} {
		c.Stdin = strings.NewReader(strings.Repeat(`\a`, n) + "\n")
		out, _, got := run(t, c)
		if n == 1<<10 {
			if out != "1024\n" {
				t.Errorf("a short line: %q, %+v", out, got)
			}
		} else if got.Reason != OOMKilled {
			t.Errorf("a long line: %q, %+v", out, got)
		}
	}
}
