package command_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// testOutputFlag checks that -o means the same for every verb that lists something. It follows
// testCompletion, which has saved a snapshot, paused a controller and run kubectl.
func (u user) testOutputFlag(t *testing.T) {
	ask := func(args ...string) string {
		t.Helper()
		stdout, _ := u.mustRun(t, append([]string{"--name", "demo"}, args...)...)
		return stdout
	}
	for verb, name := range map[string]string{
		"nodes": "node-1", "nodes list": "node-1", "controllers": "job-controller", "controllers list": "job-controller", "clients list": "kubectl (kubernetes-admin)", "controllers held job": "",
		"list": "demo", "learn": "deployment", "snapshot list": "base", "explain": "job-controller", "explain job": "job-controller",
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
	}
}
