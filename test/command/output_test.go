package command_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// statusOutput is the part of "status -o json" that the tests check.
type statusOutput struct {
	Process struct {
		State   string
		Settled bool
		Started time.Time
	}
	Queues []struct {
		Name string
		Adds int
	}
	Controllers []struct{ Name, State string }
}

// queueAdds returns how many keys were added to a queue; -1 if there is no such queue.
func (s statusOutput) queueAdds(queue string) int {
	for _, q := range s.Queues {
		if q.Name == queue {
			return q.Adds
		}
	}
	return -1
}

// awaitSettledAfterWork waits until a control plane has settled after its deployment
// controller had work.
func awaitSettledAfterWork(t *testing.T, p *program.ControlPlane) statusOutput {
	t.Helper()
	var s statusOutput
	p.Await(t, "settled", func() bool {
		s = statusOutput{}
		testutil.DecodeJSON(t, program.Status(t, p.Dir, "-o", "json"), &s)
		return s.Process.State == "ready" && s.Process.Settled && s.queueAdds("deployment") > 0
	})
	return s
}

func testStatus(t *testing.T, p *program.ControlPlane) {
	program.CreateWeb(t, p.Dir, 1)
	asJSON := awaitSettledAfterWork(t, p)
	if len(asJSON.Controllers) < 30 {
		t.Errorf("only %d controllers", len(asJSON.Controllers))
	}
	if state, _, err := datadir.Peek(p.Dir); err != nil || !state.StartedAt.Equal(asJSON.Process.Started) {
		t.Errorf("it has started at %v, and is listed as started at %v: %v", asJSON.Process.Started, state.StartedAt, err)
	}
	var asYAML statusOutput
	p.Await(t, "settled as YAML, too", func() bool {
		asYAML = statusOutput{}
		if err := yaml.Unmarshal([]byte(program.Status(t, p.Dir, "-o", "yaml")), &asYAML); err != nil {
			t.Fatal(err)
		}
		return asYAML.Process.Settled
	})
	if len(asYAML.Queues) != len(asJSON.Queues) || asYAML.queueAdds("replicaset") < 1 {
		t.Errorf("YAML and JSON differ: %+v", asYAML)
	}
	var brief, wide string
	p.Await(t, "settled twice in a row", func() bool { // timers of the start may interfere
		brief, wide = program.Status(t, p.Dir), program.Status(t, p.Dir, "-o", "wide")
		return strings.Contains(brief, "is ready and settled") && strings.Contains(wide, "is ready and settled")
	})
	for _, tc := range []struct {
		format, text, has, lacks string
	}{
		{"brief", brief, "is ready and settled", ""},
		{"brief", brief, "\nreplicaset ", "\nstatefulset "},
		{"brief", brief, "\ncronjob ", ""},
		{"wide", wide, "is ready and settled", ""},
		{"wide", wide, "statefulset-controller", ""},
	} {
		if !strings.Contains(tc.text, tc.has) || tc.lacks != "" && strings.Contains(tc.text, tc.lacks) {
			t.Errorf("%s: want %q and not %q in\n%s", tc.format, tc.has, tc.lacks, tc.text)
		}
	}
}

func TestUIJSON(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	f := startFollower(t, dir, "up", "--data-dir", dir, "--ui", "json")
	f.awaitKind(t, "snapshot")
	program.CreateWeb(t, dir, 1)
	for _, kind := range []string{"bootStep", "controllerChanged", "called", "delivered", "synced", "queueChanged", "logged"} {
		f.awaitKind(t, kind)
	}
	top := startFollower(t, "", "--data-dir", dir, "top", "--ui", "json")
	top.awaitKind(t, "snapshot")
	top.interrupt(t)
	f.interrupt(t)
	all := f.out.wholeLines()
	if kind := jsonKind(all[0]); kind != "ctrlplane" {
		t.Errorf("the first line is %s", all[0])
	}
	for _, line := range all {
		if jsonKind(line) == "" {
			t.Errorf("not a JSON object with a kind: %s", line)
		}
	}
}

func TestUIPlain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	f := startFollower(t, dir, "up", "--data-dir", dir, "--ui", "plain")
	f.awaitText(t, "  settled")
	name := program.CreateWeb(t, dir, 1)
	f.awaitText(t, "deployment-controller  create  ReplicaSet default/"+name+"-")
	top := startFollower(t, "", "--data-dir", dir, "top", "--ui", "plain")
	top.awaitText(t, "  settled")
	name = program.CreateWeb(t, dir, 1)
	for _, both := range []*outputFollower{f, top} {
		both.awaitText(t, "replicaset-controller  create  Pod default/"+name+"-")
	}
	top.interrupt(t)
	requireCleanHangup(t, f)
	for _, line := range f.out.wholeLines() {
		if strings.ContainsAny(line, "\x1b\r") {
			t.Errorf("a line contains control characters: %q", line)
		}
	}
}

// requireQueueCounts checks that the queues of a control plane that has made Pods ready are counted.
func requireQueueCounts(t *testing.T, p *program.ControlPlane) {
	t.Helper()
	if s := awaitSettledAfterWork(t, p); s.queueAdds("replicaset") < 1 || s.queueAdds("endpoint_slice") < 1 {
		t.Errorf("no counts of the queues: %+v", s.Queues)
	}
}
