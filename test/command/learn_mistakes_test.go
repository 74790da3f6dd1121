package command_test

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// testLearnExplainsMistakes does the tasks of lesson 4 in other ways than it asks for, on a control plane on which a
// controller is paused that holds no write.
func testLearnExplainsMistakes(t *testing.T, p *program.ControlPlane) {
	program.MustRun(t, p.Dir, "controllers", "pause", "job")
	defer program.MustRun(t, p.Dir, "controllers", "resume", "job")
	cmd := program.Command(t, "--data-dir", p.Dir, "learn", "4")
	cmd.Stdin = strings.NewReader(strings.Join([]string{
		"skip", "skip", "check", "kubectl apply -f old.yaml", "skip",
		"ctrlplane controllers fail deployment --code 500 --verb update", "check",
		"ctrlplane controllers fail deployment --code 409", "check",
		"ctrlplane controllers fail deployment --code 409 --verb update",
		"ctrlplane learn 3", "kubectl cordon node-1", "quit", "",
	}, "\n"))
	stdout, stderr, code := program.Run(t, cmd)
	text := strings.Join(strings.Fields(stdout), " ")
	const note = `Note: job-controller is paused: its writes are held. To undo it: "ctrlplane controllers resume job-controller"`
	at := 0
	for _, want := range []string{
		note, "1/4", "No write of a ConfigMap has had a conflict so far", "The API server has answered.",
		"Not every update of deployment-controller fails with 409.", "Its other calls fail, too", "From now on, every update of deployment-controller fails.",
		"that of a lesson, which uses namespace lesson-4", "node/node-1 cordoned", "Cleaning up", "node-1, which was cordoned during the lesson, stays so",
	} {
		i := strings.Index(text[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing: exit code %d, stderr %q, stdout:\n%s", want, code, stderr, stdout)
		}
		at += i
	}
	if code != 0 || strings.Count(text, note) != 1 {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	program.MustRun(t, p.Dir, "kubectl", "uncordon", "node-1")
}
