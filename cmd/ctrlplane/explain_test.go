package main

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui/explain"
)

// TestExplainOffline runs explain without a control plane.
func TestExplainOffline(t *testing.T) {
	h := enterHome(t)
	out := h.mustRun(t, "explain")
	for _, want := range []string{"\nPods and nodes\n", "\n  replicaset  ", "\n  kube-scheduler  "} {
		if !strings.Contains(out, want) {
			t.Errorf("the list does not contain %q:\n%s", want, out)
		}
	}
	out = h.mustRun(t, "explain", "nodelifecycle")
	for _, want := range []string{"node-lifecycle-controller  also nodelifecycle\n", "No control plane is running", "--node-monitor-grace-period=50s\n", "pkg/controller/nodelifecycle/"} {
		if !strings.Contains(out, want) {
			t.Errorf("the page does not contain %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "\x1b") || strings.Contains(out, "Writes so far") {
		t.Errorf("colours in a file, or something observed:\n%s", out)
	}

	var list struct{ Items []explain.Entry }
	if err := json.Unmarshal([]byte(h.mustRun(t, "explain", "garbagecollector", "job", "garbage-collector", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 2 || list.Items[0].Name != "garbage-collector-controller" || list.Items[0].Observed || list.Items[1].Name != "job-controller" {
		t.Errorf("%+v", list)
	}
	var items struct{ Items []explain.ListItem }
	if err := yaml.UnmarshalStrict([]byte(h.mustRun(t, "explain", "-o", "yaml")), &items); err != nil || len(items.Items) != len(explain.Pages()) {
		t.Errorf("%d items, %v", len(items.Items), err)
	}
}

func TestExplainErrors(t *testing.T) {
	h := enterHome(t)
	h.requireFailure(t, []string{"explain", "replicast"}, 2, `unknown controller "replicast"`, `did you mean "replicaset"?`)
	h.requireFailure(t, []string{"explain", "job", "qqqqqq"}, 2, `unknown controller "qqqqqq"`, "lists them")
	h.requireFailure(t, []string{"--name", "other", "explain", "job"}, 1, `control plane "other" is not running`)
}

// The name of a client that reports no controllers leads to what is known of it.
func TestExplainAClient(t *testing.T) {
	s := &observe.Snapshot{Clients: []observe.Client{{Name: "karpenter (kubernetes-admin)"}}}
	for word, want := range map[string]string{
		"karpenter":                    "docs/operators.md",
		"karpenter (kubernetes-admin)": "docs/operators.md",
		"karpentr":                     "lists them",
	} {
		_, err := findPages(&target{}, []string{word}, explain.NewNames(nil), s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", word, err, want)
		}
	}
}

// A name that is not quite that of a controller that a client reports leads to that.
func TestExplainSuggestsReportedControllers(t *testing.T) {
	s := &observe.Snapshot{Clients: []observe.Client{{Name: "kueue (bob)", Controllers: []string{"kueue/usage-controller", "kueue/job"}}}}
	for word, want := range map[string]string{
		"kueue/usage": `did you mean "kueue/usage-controller"?`,
		"kueue/jbo":   `did you mean "kueue/job"?`,
		"kueue/x":     "lists them",
		"replicast":   `did you mean "replicaset"?`,
	} {
		_, err := findPages(&target{}, []string{word}, explain.NewNames(nil), s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", word, err, want)
		}
	}
}

// TestExplainSettingsAreFlags checks that "up" has the flags that pages name.
func TestExplainSettingsAreFlags(t *testing.T) {
	help := enterHome(t).mustRun(t, "up", "--help")
	for _, p := range explain.Pages() {
		for _, name := range p.Settings {
			if !strings.Contains(help, " --"+name+" ") {
				t.Errorf("%s: up has no flag --%s", p.Name, name)
			}
		}
	}
}
