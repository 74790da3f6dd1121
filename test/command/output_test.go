package command_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestViewUsageErrors(t *testing.T) {
	for _, tc := range []struct {
		args string
		code int
		says string
	}{
		{"up --ui boiled", 2, `unknown mode "boiled": use auto, plain, json or none`},
		{"top --ui boiled", 2, `unknown mode "boiled": use auto, plain, json or none`},
		{"top", 1, `is not running: start it with "`},
		{"status", 1, `is not running: start it with "`},
		{"--name demo top", 1, "--name demo up"},
		{"--data-dir nowhere status", 1, "--data-dir nowhere up"},
		{"status -o xml", 2, "json, yaml or wide"},
		{"status extra", 2, "takes no arguments"},
		{"top --token-file x", 2, "need --metrics"},
		{"top --insecure-skip-tls-verify", 2, "need --metrics"},
		{"--name demo top --metrics http://127.0.0.1:1", 2, "use one of them"},
		{"top --metrics localhost:8080", 2, "http://localhost:8080"},
		{"top --metrics ftp://localhost", 2, "only http:// and https://"},
		{"top --metrics http://127.0.0.1:1 --token-file nowhere", 2, "nowhere"},
		{"top --metrics http://127.0.0.1:1 --cert-file x", 2, "--key-file"},
		{"up --observe-records=many", 2, "--observe-records"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			requireFailure(t, newCommand(t, strings.Fields(tc.args)...), tc.code, tc.says)
		})
	}
}

// statusOutput is what of "status -o json" is looked at here.
type statusOutput struct {
	Process struct {
		State   string
		Settled bool
	}
	Queues []struct {
		Name string
		Adds int
	}
	Controllers []struct{ Name, State string }
}

// queueAdds is how many keys a queue has had.
func (s statusOutput) queueAdds(queue string) int {
	for _, q := range s.Queues {
		if q.Name == queue {
			return q.Adds
		}
	}
	return -1
}

// runStatus asks for the status of a control plane.
func runStatus(t *testing.T, dir string, args ...string) string {
	t.Helper()
	stdout, stderr, code := runToEnd(t, newCommand(t, append([]string{"--data-dir", dir, "status"}, args...)...))
	if code != 0 || stderr != "" {
		t.Fatalf("status %v: exit code %d: %s", args, code, stderr)
	}
	return stdout
}

// awaitSettledAfterWork waits until a control plane has settled after some work of its
// deployment controller.
func awaitSettledAfterWork(t *testing.T, p *controlPlane) statusOutput {
	t.Helper()
	var s statusOutput
	p.await(t, "settled", func() bool {
		s = statusOutput{}
		if err := json.Unmarshal([]byte(runStatus(t, p.dir, "-o", "json")), &s); err != nil {
			t.Fatal(err)
		}
		return s.Process.State == "ready" && s.Process.Settled && s.queueAdds("deployment") > 0
	})
	return s
}

func TestStatus(t *testing.T) {
	p := startUp(t, filepath.Join(t.TempDir(), "data"), "--controllers=*,-cronjob")
	createWeb(t, p.dir, 3)
	asJSON := awaitSettledAfterWork(t, p)
	if len(asJSON.Controllers) < 30 {
		t.Errorf("only %d controllers", len(asJSON.Controllers))
	}
	var asYAML statusOutput
	p.await(t, "settled as YAML, too", func() bool {
		asYAML = statusOutput{}
		if err := yaml.Unmarshal([]byte(runStatus(t, p.dir, "-o", "yaml")), &asYAML); err != nil {
			t.Fatal(err)
		}
		return asYAML.Process.Settled
	})
	if len(asYAML.Queues) != len(asJSON.Queues) || asYAML.queueAdds("replicaset") < 1 {
		t.Errorf("as YAML it is another: %+v", asYAML)
	}
	var brief, wide string
	p.await(t, "settled twice in a row", func() bool { // timers of the start come in between
		brief, wide = runStatus(t, p.dir), runStatus(t, p.dir, "-o", "wide")
		return strings.Contains(brief, "is ready and settled") && strings.Contains(wide, "is ready and settled")
	})
	for _, tc := range []struct {
		format, text, has, lacks string
	}{
		{"brief", brief, "is ready and settled", ""},
		{"brief", brief, "replicaset-controller", "statefulset-controller"},
		{"brief", brief, "cronjob-controller", ""},
		{"wide", wide, "is ready and settled", ""},
		{"wide", wide, "statefulset-controller", ""},
	} {
		if !strings.Contains(tc.text, tc.has) || tc.lacks != "" && strings.Contains(tc.text, tc.lacks) {
			t.Errorf("%s: want %q and not %q in\n%s", tc.format, tc.has, tc.lacks, tc.text)
		}
	}
}

func TestUIJSON(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	f := startFollower(t, dir, "up", "--data-dir", dir, "--ui", "json")
	f.awaitKind(t, "snapshot")
	createWeb(t, dir, 3)
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
	dir := filepath.Join(t.TempDir(), "data")
	f := startFollower(t, dir, "up", "--data-dir", dir, "--ui", "plain")
	f.awaitText(t, "  settled")
	name := createWeb(t, dir, 3)
	f.awaitText(t, "deployment-controller  create  ReplicaSet default/"+name+"-")
	top := startFollower(t, "", "--data-dir", dir, "top", "--ui", "plain")
	top.awaitText(t, "  settled")
	name = createWeb(t, dir, 1)
	for _, both := range []*outputFollower{f, top} {
		both.awaitText(t, "replicaset-controller  create  Pod default/"+name+"-")
	}
	top.interrupt(t)
	f.interrupt(t)
	for _, line := range f.out.wholeLines() {
		if strings.ContainsAny(line, "\x1b\r") {
			t.Errorf("a line is meant for a terminal: %q", line)
		}
	}
}

// TestStatusWithoutRecords turns observation off: what is cheap is still known.
func TestStatusWithoutRecords(t *testing.T) {
	p := startUp(t, filepath.Join(t.TempDir(), "data"), "--observe-records=-1")
	createWeb(t, p.dir, 3)
	if s := awaitSettledAfterWork(t, p); s.queueAdds("replicaset") < 1 || s.queueAdds("endpoint_slice") < 1 {
		t.Errorf("no counts of the queues: %+v", s.Queues)
	}
}
