package command_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestLookRefused(t *testing.T) {
	for _, tc := range []struct {
		args string
		code int
		says string
	}{
		{"up --ui boiled", 2, `"boiled" is not known: use auto, plain, json or none`},
		{"top --ui boiled", 2, `"boiled" is not known: use auto, plain, json or none`},
		{"top", 1, `does not run: start it with "`},
		{"status", 1, `does not run: start it with "`},
		{"--name demo top", 1, "--name demo up"},
		{"--data-dir nowhere status", 1, "--data-dir nowhere up"},
		{"status -o xml", 2, "json, yaml or wide"},
		{"status extra", 2, "takes no arguments"},
		{"top --token-file x", 2, "--metrics, which is not given"},
		{"top --insecure-skip-tls-verify", 2, "--metrics, which is not given"},
		{"--name demo top --metrics http://127.0.0.1:1", 2, "use one of them"},
		{"top --metrics localhost:8080", 2, "http://localhost:8080"},
		{"top --metrics ftp://localhost", 2, "only http:// and https://"},
		{"top --metrics http://127.0.0.1:1 --token-file nowhere", 2, "nowhere"},
		{"top --metrics http://127.0.0.1:1 --cert-file x", 2, "--key-file"},
		{"up --observe-records=many", 2, "--observe-records"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			refused(t, command(t, strings.Fields(tc.args)...), tc.code, tc.says)
		})
	}
}

// status is what of "status -o json" is looked at here.
type status struct {
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

// adds is how many keys a queue has had.
func (s status) adds(queue string) int {
	for _, q := range s.Queues {
		if q.Name == queue {
			return q.Adds
		}
	}
	return -1
}

// ask asks for the status of a control plane.
func ask(t *testing.T, dir string, args ...string) string {
	t.Helper()
	stdout, stderr, code := output(t, command(t, append([]string{"--data-dir", dir, "status"}, args...)...))
	if code != 0 || stderr != "" {
		t.Fatalf("status %v: exit code %d: %s", args, code, stderr)
	}
	return stdout
}

// worked waits until a control plane has settled after some work of its
// deployment controller.
func worked(t *testing.T, p *plane) status {
	t.Helper()
	var s status
	p.await(t, "settled", func() bool {
		s = status{}
		if err := json.Unmarshal([]byte(ask(t, p.dir, "-o", "json")), &s); err != nil {
			t.Fatal(err)
		}
		return s.Process.State == "ready" && s.Process.Settled && s.adds("deployment") > 0
	})
	return s
}

func TestLookStatus(t *testing.T) {
	p := up(t, filepath.Join(t.TempDir(), "data"), "--controllers=*,-cronjob")
	web(t, p.dir, 3)
	asJSON := worked(t, p)
	if len(asJSON.Controllers) < 30 {
		t.Errorf("only %d controllers", len(asJSON.Controllers))
	}
	var asYAML status
	p.await(t, "settled as YAML, too", func() bool {
		asYAML = status{}
		if err := yaml.Unmarshal([]byte(ask(t, p.dir, "-o", "yaml")), &asYAML); err != nil {
			t.Fatal(err)
		}
		return asYAML.Process.Settled
	})
	if len(asYAML.Queues) != len(asJSON.Queues) || asYAML.adds("replicaset") < 1 {
		t.Errorf("as YAML it is another: %+v", asYAML)
	}
	var brief, wide string
	p.await(t, "settled twice in a row", func() bool { // timers of the start come in between
		brief, wide = ask(t, p.dir), ask(t, p.dir, "-o", "wide")
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

func TestLookJSON(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	f := follow(t, dir, "up", "--data-dir", dir, "--ui", "json")
	f.tells(t, "snapshot")
	web(t, dir, 3)
	for _, kind := range []string{"bootStep", "controllerChanged", "called", "delivered", "synced", "queueChanged", "logged"} {
		f.tells(t, kind)
	}
	top := follow(t, "", "--data-dir", dir, "top", "--ui", "json")
	top.tells(t, "snapshot")
	top.interrupted(t)
	f.interrupted(t)
	all := f.out.all()
	if kind := kindOf(all[0]); kind != "ctrlplane" {
		t.Errorf("the first line is %s", all[0])
	}
	for _, line := range all {
		if kindOf(line) == "" {
			t.Errorf("not a JSON object with a kind: %s", line)
		}
	}
}

func TestLookPlain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	f := follow(t, dir, "up", "--data-dir", dir, "--ui", "plain")
	f.says(t, "  settled")
	name := web(t, dir, 3)
	f.says(t, "deployment-controller  create  ReplicaSet default/"+name+"-")
	top := follow(t, "", "--data-dir", dir, "top", "--ui", "plain")
	top.says(t, "  settled")
	name = web(t, dir, 1)
	for _, both := range []*follower{f, top} {
		both.says(t, "replicaset-controller  create  Pod default/"+name+"-")
	}
	top.interrupted(t)
	f.interrupted(t)
	for _, line := range f.out.all() {
		if strings.ContainsAny(line, "\x1b\r") {
			t.Errorf("a line is meant for a terminal: %q", line)
		}
	}
}

// TestLookUnobserved turns observation off: what is cheap is still known.
func TestLookUnobserved(t *testing.T) {
	p := up(t, filepath.Join(t.TempDir(), "data"), "--observe-records=-1")
	web(t, p.dir, 3)
	if s := worked(t, p); s.adds("replicaset") < 1 || s.adds("endpoint_slice") < 1 {
		t.Errorf("no counts of the queues: %+v", s.Queues)
	}
}
