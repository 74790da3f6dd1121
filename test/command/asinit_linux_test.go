package command_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// reaps leaves a process without a parent, ends it, and waits until it is gone.
const reaps = `
(sleep 300 & echo $! >left)
read -r pid <left
test "$(ps -o ppid= -p $pid | tr -d ' ')" = 1 || { echo "the parent of $pid is not process 1" >&2; exit 1; }
kill $pid
for i in $(seq 100); do kill -0 $pid 2>/dev/null || exit 7; sleep 0.1; done
ps -p $pid >&2
exit 1
`

// TestAsInit runs the program as process 1, as in a container.
func TestAsInit(t *testing.T) {
	t.Parallel()
	namespaces := []string{"-r", "--fork", "--pid", "--mount-proc"}
	if out, err := exec.Command("unshare", append(namespaces, "true")...).CombinedOutput(); err != nil {
		t.Skipf("no PID namespace of its own can be made here: %v %s", err, out)
	}
	for name, tt := range map[string]struct {
		script string
		code   int
	}{
		"reaps what has lost its parent": {reaps, 7},
		"forwards signals":               {"trap 'exit 5' TERM; kill -TERM 1; for i in $(seq 50); do sleep 0.1; done", 5},
		"its child is killed":            {"kill -KILL $PPID; sleep 5", 137},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inside := program.Command(t, append([]string{"run"}, minimal("--", "sh", "-c", tt.script)...)...)
			cmd := exec.CommandContext(t.Context(), "unshare", append(namespaces, inside.Args...)...)
			cmd.Env, cmd.Dir, cmd.Stdin = inside.Env, inside.Dir, strings.NewReader("")
			if out, stderr, code := program.Run(t, cmd); code != tt.code {
				t.Errorf("exit code %d, want %d\n%s%s", code, tt.code, out, stderr)
			}
		})
	}
}
