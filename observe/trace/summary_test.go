package trace

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// The sentence at the top names who deleted a Pod and why, not only who removed it.
func TestSummary(t *testing.T) {
	stateful := observe.Object{Group: "apps", Resource: "statefulsets", Kind: "StatefulSet", Namespace: "default", Name: "db"}
	for _, c := range []struct {
		scenario string
		about    observe.Object
		what     What
		want     string
	}{
		{"statefulset", pod("db-2"), Created, "statefulset-controller created Pod db-2 because Pod db-1 was updated. It began when a client created StatefulSet db.\n"},
		{"statefulset", pod("db-2"), Deleted, "statefulset-controller deleted Pod db-2 because StatefulSet db was updated; simulated-kubelet then removed Pod db-2. It began when a client updated StatefulSet db.\n"},
		{"unschedulable", pod("small"), Deleted, "A client deleted Pod small; simulated-kubelet then removed Pod small.\n"},
		{"unschedulable", pod("small"), Created, "A client created Pod small.\n"},
	} {
		chain, err := Why(loadJournal(t, c.scenario), c.about, Options{What: c.what})
		if err != nil {
			t.Fatal(err)
		}
		if got := writeString(t, chain, Text, Style{}); !strings.Contains(got, ")\n"+c.want) {
			t.Errorf("%s %s: want %q in\n%s", c.about, c.what, c.want, got)
		}
	}
	tree := writeString(t, buildTree(t, "statefulset", stateful, Options{}), Text, Style{})
	if want := "A client created StatefulSet db, followed by "; !strings.Contains(tree, want) || !strings.Contains(tree, "created 1 ControllerRevision, 3 Pods; deleted 2 Pods") {
		t.Errorf("want %q and what was created in\n%s", want, tree)
	}
}

// A graceful delete is a delete, also if its call is not recorded, and a conflict that
// was retried is no failure.
func TestWordingOfDeletesAndConflicts(t *testing.T) {
	text := writeString(t, buildTree(t, "unschedulable", pod("small"), Options{}), Text, Style{})
	if !strings.Contains(text, "deleted Pod small (version 40 is marked as deleted), by a client") {
		t.Errorf("the delete is not shown as one:\n%s", text)
	}
	text = writeString(t, buildTree(t, "conflict", deployment("busy"), Options{}), Text, Style{Color: true})
	if !strings.Contains(text, "\x1b[33mhad a conflict when it tried to update Deployment busy status, which it had itself modified to version 216; retried\x1b[0m") || strings.Contains(text, "\x1b[31m") {
		t.Errorf("a conflict that was retried is not shown as such:\n%s", text)
	}
	if strings.Contains(text, "synced likely") {
		t.Error("bad English")
	}
}

// TestWhoAnswered: clients are not called controllers, but those that they report are.
func TestWhoAnswered(t *testing.T) {
	for want, names := range map[string][]string{
		"; 2 clients answered with 2 writes":                  {"alfa (admin)", "bravo (admin)"},
		"; 1 controller answered with 2 writes":               {"job-controller", "job-controller"},
		"; 1 controller and 1 client answered with 2 writes":  {"job-controller", "bravo (admin)"},
		"; 2 controllers and 1 client answered with 3 writes": {"job-controller", "alfa/site", "bravo (admin)"},
	} {
		e := newEffects(phrases{})
		for _, name := range names {
			e.add(&Node{Kind: Call, Controller: name, byClient: name != "job-controller", Verb: "update", Status: 200, Object: &observe.Object{Kind: "ConfigMap"}})
		}
		if got := e.describe(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
