package command_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestOutputFlag checks that -o means the same for every verb that lists something.
func TestOutputFlag(t *testing.T) {
	u := newUser(t)
	dir := filepath.Join(t.TempDir(), "data")
	program.Up(t, dir)
	ask := func(args ...string) string {
		t.Helper()
		stdout, _ := u.mustRun(t, append([]string{"--data-dir", dir}, args...)...)
		return stdout
	}
	ask("snapshot", "save", "base")
	ask("controllers", "pause", "replicaset")
	for verb, name := range map[string]string{
		"nodes": "node-1", "nodes list": "node-1", "controllers": "job-controller", "controllers held replicaset": "",
		"list": "default", "snapshot list": "base", "explain": "job-controller", "explain job": "job-controller",
	} {
		in := func(format string) string { return ask(append(strings.Fields(verb), "-o", format)...) }
		var asJSON, asYAML struct{ Items []any }
		if err := json.Unmarshal([]byte(in("json")), &asJSON); err != nil || asJSON.Items == nil {
			t.Errorf("%s -o json: %v, %v", verb, asJSON, err)
		}
		if err := yaml.Unmarshal([]byte(in("yaml")), &asYAML); err != nil || len(asYAML.Items) != len(asJSON.Items) {
			t.Errorf("%s -o yaml: %v, %v", verb, asYAML, err)
		}
		names := strings.Split(strings.TrimSuffix(in("name"), "\n"), "\n")
		if names[0] != name && len(asJSON.Items) == 1 || len(asJSON.Items) != len(names) && name != "" || !strings.Contains(strings.Join(names, " "), name) {
			t.Errorf("%s -o name: %q", verb, names)
		}
		if wide := in("wide"); wide == "" {
			t.Errorf("%s -o wide: nothing", verb)
		}
		program.RequireFailure(t, u.command(t, append([]string{"--data-dir", dir}, append(strings.Fields(verb), "-o", "xml")...)...), 2,
			`--output: unknown format "xml": use wide, json, yaml or name, or leave it out`)
	}
}
