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
	for _, tc := range []struct{ verb, name string }{
		{"nodes list", "node-1"}, {"controllers list", "job-controller"}, {"clients list", "kubectl (kubernetes-admin)"}, {"controllers held job", ""},
		{"list", "demo"}, {"learn", "deployment"}, {"snapshot list", "base"}, {"explain", "job-controller"},
	} {
		in := func(format string) string { return ask(append(strings.Fields(tc.verb), "-o", format)...) }
		var asYAML struct{ Items []any }
		if err := yaml.Unmarshal([]byte(in("yaml")), &asYAML); err != nil || asYAML.Items == nil {
			t.Errorf("%s -o yaml: %v, %v", tc.verb, asYAML, err)
		}
		names := strings.Split(strings.TrimSuffix(in("name"), "\n"), "\n")
		if names[0] != tc.name && len(asYAML.Items) == 1 || len(asYAML.Items) != len(names) && tc.name != "" || !strings.Contains(strings.Join(names, " "), tc.name) {
			t.Errorf("%s -o name: %q", tc.verb, names)
		}
		if wide := in("wide"); wide == "" {
			t.Errorf("%s -o wide: nothing", tc.verb)
		}
	}
	// One function writes JSON and YAML, and these verbs are the same as those above.
	for verb, name := range map[string]string{"nodes": "node-1", "controllers": "job-controller", "explain job": "job-controller"} {
		text := ask(append(strings.Fields(verb), "-o", "json")...)
		var asJSON struct{ Items []any }
		if err := json.Unmarshal([]byte(text), &asJSON); err != nil || len(asJSON.Items) == 0 || !strings.Contains(text, `"name": "`+name+`"`) {
			t.Errorf("%s -o json: %v, %s", verb, err, text)
		}
	}
}
