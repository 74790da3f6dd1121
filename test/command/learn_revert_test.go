package command_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// testLearnRevertsChanges leaves a lesson that was set up again: nodes and clients are as before it. The lesson names the pause
// that was there before while that holds a write, and not the delay that a student has set.
func testLearnRevertsChanges(t *testing.T, p *program.ControlPlane) {
	nodes, clients := program.MustRun(t, p.Dir, "nodes", "-o", "name"), program.MustRun(t, p.Dir, "clients")
	if strings.Contains(clients, "each call waits") {
		t.Fatal(clients)
	}
	program.MustRun(t, p.Dir, "controllers", "pause", "deployment")
	defer program.MustRun(t, p.Dir, "controllers", "resume", "deployment")
	lesson := filepath.Join(t.TempDir(), "nodes.md")
	testutil.WriteFile(t, lesson, "---\ntitle: Nodes\nsummary: A lesson of my own.\nnodes: 2\n---\n\n## One\n\n```do\nsay: Do it.\nrun: kubectl create deployment web --image x\nuntil:\n- object: replicaset/nosuch\n```\n")
	cmd := program.Command(t, "--data-dir", p.Dir, "learn", lesson)
	cmd.Stdin = strings.NewReader(strings.Join([]string{
		"check", "kubectl create deployment web --image x", "check",
		`kubectl -n default run mine --image x --overrides "{\"spec\":{\"nodeName\":\"$(kubectl get nodes -o name | tail -1 | cut -d / -f 2)\"}}"`,
		"ctrlplane nodes fail $(kubectl -n default get pod mine -o jsonpath={.spec.nodeName})",
		"kubectl delete namespace $NS", "", "kubectl -n default delete pod mine --force",
		"ctrlplane clients delay 'kubectl (kubernetes-admin)' 1ms", "check", "quit", "",
	}, "\n"))
	stdout, stderr, code := program.Run(t, cmd)
	text := strings.Join(strings.Fields(stdout), " ")
	const note = `Note: deployment-controller is paused: 1 write is held. To undo it: "ctrlplane controllers resume deployment-controller"`
	if code != 0 || strings.Count(text, note) != 2 || strings.Count(text, "Note: ") != 3 || !strings.Contains(text, "pod/mine created") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	if now := program.MustRun(t, p.Dir, "nodes", "-o", "name"); now != nodes {
		t.Errorf("nodes were\n%sand are\n%s", nodes, now)
	}
	if now := program.MustRun(t, p.Dir, "clients"); strings.Contains(now, "each call waits") {
		t.Error(now)
	}
}
