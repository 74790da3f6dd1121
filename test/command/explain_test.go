package command_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
	"github.com/ctrlplane/ctrlplane/ui/explain"
)

// explainOutput runs the program, which must succeed, and returns its output.
func explainOutput(t *testing.T, args ...string) string {
	t.Helper()
	out, stderr, code := program.Run(t, program.Command(t, args...))
	if code != 0 || stderr != "" {
		t.Fatalf("%v: exit code %d: %s", args, code, stderr)
	}
	return out
}

type explainList struct {
	Items []explain.Entry `json:"items"`
}

func TestExplainColours(t *testing.T) {
	t.Parallel()
	for env, colour := range map[string]bool{"CLICOLOR_FORCE=1": true, "NO_COLOR=1": false} {
		cmd := program.Command(t, "explain", "job")
		cmd.Env = append(cmd.Env, "TERM=xterm-256color", env)
		if out, _, code := program.Run(t, cmd); code != 0 || strings.Contains(out, "\x1b[") != colour {
			t.Errorf("%s: exit code %d, want colours: %v:\n%q", env, code, colour, out)
		}
	}
	cmd := program.Command(t, "explain", "job")
	cmd.Env = append(cmd.Env, "LC_ALL=C")
	if out, _, _ := program.Run(t, cmd); strings.Contains(out, "│") || !strings.Contains(out, "\n  |   Pod   |") {
		t.Errorf("not ASCII although the locale requires it:\n%s", out)
	}
}

// testExplain checks the facts that are read from the control plane.
func testExplain(t *testing.T, p *program.ControlPlane) {
	dir := p.Dir
	var list explainList
	p.Await(t, "running", func() bool {
		list = explainList{}
		if err := json.Unmarshal([]byte(explainOutput(t, "--data-dir", dir, "explain", "job", "ttl", "-o", "json")), &list); err != nil || len(list.Items) != 2 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list.Items[0].State == "running"
	})
	job, ttl := list.Items[0], list.Items[1]
	if !job.Observed || !slices.Equal(job.Watches, []string{"jobs.batch", "pods"}) || len(job.Permissions) == 0 || job.Source[0].Version == "" {
		t.Errorf("%+v", job)
	}
	if q := job.Queues[0]; q.Name != "job" || q.Workers != 7 || q.Key == "" {
		t.Errorf("%+v", q)
	}
	if f := job.Flags[0]; f.Name != "concurrent-job-syncs" || f.Value != "7" || f.Default != "5" {
		t.Errorf("%+v", f)
	}
	if ttl.State != "off" || ttl.Reason != "turned off by --controllers" {
		t.Errorf("%+v", ttl)
	}
	out := explainOutput(t, "--data-dir", dir, "explain", "job")
	for _, want := range []string{"job-controller  running", "\nWatches\n  jobs.batch, pods\n", "--concurrent-job-syncs=7  default 5\n", "ClusterRole system:controller:job-controller\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("the page does not contain %q:\n%s", want, out)
		}
	}
}
