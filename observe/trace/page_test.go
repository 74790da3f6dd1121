package trace

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

var pagesDir = flag.String("pages", "", "folder to write pages into for the browser tests in tools/browser")

// hostileTexts are names and messages that the page must not interpret.
var hostileTexts = []string{
	`</script><script>document.title="broken"</script>`, `<img src=x onerror=alert(1)>`, `"quoted" 'and' &amp; <!-- `, `${7*7} {{.}} ]]>`,
	"control \x00\x07\x1b[31m red\nnext line\r", "right \u202eto left\u202c \u2028 end", "\xff\xfe not UTF-8",
	"a-name-that-is-very-long-" + fmt.Sprintf("%0400d", 7), "עברית and العربية",
}

// hostileTree has hostile texts wherever a record may have one.
func hostileTree() *Tree {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	about := observe.Object{Resource: "configmaps", Kind: "ConfigMap", Namespace: hostileTexts[0], Name: hostileTexts[0]}
	root := &Node{ID: "root", Kind: Call, Time: start, Controller: hostileTexts[0], Verb: "create", Object: &about, Status: 201, root: true}
	for i, text := range hostileTexts {
		at := start.Add(time.Duration(i+1) * time.Millisecond)
		object := observe.Object{Resource: "configmaps", Kind: text, Namespace: "shop", Name: text}
		n := &Node{
			ID: fmt.Sprint("sync", i), Kind: Sync, Time: at, After: at.Sub(start), Took: time.Millisecond, Controller: text, Queue: text, Key: text, Failed: true,
			KeyBasis: observe.BasisCall, LogLines: []string{text}, Error: text, Cause: &Cause{ID: "root", Certainty: Likely, Rule: ByAdd}, causedBy: root,
		}
		n.Children = []*Node{{
			ID: fmt.Sprint("call", i), Kind: Call, Time: at, After: at.Sub(start), Controller: text, Verb: "patch", Object: &object, Subresource: text,
			Status: 422, Failed: true, Error: text, ResourceVersion: text, Cause: &Cause{ID: n.ID, Certainty: Certain, Rule: ByCall}, causedBy: n,
		}}
		root.Children = append(root.Children, n)
	}
	return &Tree{About: about, Start: start, Took: time.Second, Missed: 7, Roots: []*Node{root}}
}

// longNames are long names of clients.
var longNames = []string{"shop-operator (system:serviceaccount:default:bot)", "kubectl (kubernetes-admin)", "controller-manager-of-the-shop (system:serviceaccount:shop-production:operator)"}

// clientTree has writes of clients and controllers.
func clientTree(names ...string) *Tree {
	about := deployment("web")
	t := &Tree{About: about}
	for i, name := range names {
		t.Roots = append(t.Roots, &Node{ID: fmt.Sprint("call", i), Kind: Call, Controller: name, Verb: "update", Object: &about, Status: 200, root: true, byClient: true})
	}
	return t
}

// linePerStep returns the actors and each step on a line of its own: a difference shows whole steps.
func (d diagram) linePerStep(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	lines := json.NewEncoder(&out)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(d.Actors); err != nil {
		t.Fatal(err)
	}
	for _, s := range d.Steps {
		if err := lines.Encode(s); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// TestDiagram writes what the page draws.
func TestDiagram(t *testing.T) {
	for name, about := range map[string]observe.Object{"cascade": deployment("web"), "conflict": deployment("busy")} {
		t.Run(name, func(t *testing.T) {
			tree := buildTree(t, name, about, Options{})
			d := phrases{home: about.Namespace}.newDiagram(tree)
			golden(t, "page/"+name, d.linePerStep(t))
			conflicts := 0
			for i, s := range d.Steps {
				if s.Cause >= len(d.Steps) || s.Cause == i {
					t.Errorf("step %d has cause %d", i, s.Cause)
				}
				if s.Tone == "conflict" {
					conflicts++
				}
			}
			if (conflicts > 0) != (name == "conflict") {
				t.Errorf("%d conflicts", conflicts)
			}
		})
	}
}

// The page counts what is left out, as the text does.
func TestPageCountsWhatIsNotShown(t *testing.T) {
	about := deployment("web")
	root := &Node{ID: "root", Kind: Call, Verb: "create", Object: &about, Status: 201, root: true, Idle: 1, Empty: 1, UnchangedWrites: 2, Deeper: 3}
	tree := &Tree{About: about, Roots: []*Node{root}, unchangedRoots: 1}
	const want = "Not shown, because they changed nothing: 1 sync and 1 delete of collections and 3 writes"
	for _, f := range []Format{Text, HTML} {
		if got := writeString(t, tree, f, Style{}); !strings.Contains(got, want) {
			t.Errorf("%s: not %q in:\n%s", f, want, got)
		}
	}
	var left []string
	for _, fact := range (phrases{}).newDiagram(tree).Steps[0].Facts {
		if fact[0] == "Not shown" {
			left = append(left, fact[1])
		}
	}
	if got := strings.Join(left, ", "); got != "1 sync that changed nothing, 1 delete of collections that changed nothing, 2 writes that changed nothing, 3 steps below" {
		t.Errorf("the step says %q", got)
	}
}

// The list below the picture has its colors: a conflict does not look like a failure.
func TestPageListHasTones(t *testing.T) {
	tree := buildTree(t, "conflict", deployment("busy"), Options{})
	want := map[string]int{}
	for _, s := range (phrases{home: "default"}).newDiagram(tree).Steps {
		want[s.Tone]++
	}
	page := writeString(t, tree, HTML, Style{})
	for tone, item := range map[string]string{"": "<li>", "bad": `<li class="bad">`, "conflict": `<li class="conflict">`} {
		if got := strings.Count(page, item); got != want[tone] {
			t.Errorf("%d steps with the tone %q, want %d", got, tone, want[tone])
		}
	}
	if want["conflict"] == 0 {
		t.Error("no conflict")
	}
}

// TestPageIsEscaped checks the text of the page; the browser tests open it.
func TestPageIsEscaped(t *testing.T) {
	got := writeString(t, hostileTree(), HTML, Style{})
	for _, bad := range []string{`<script>document.title`, "<img", "\x1b", "\u202e", "\x00"} {
		if strings.Contains(got, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	for _, outside := range []string{"http://", "https://", "src="} {
		for _, line := range strings.Split(got, "\n") {
			if strings.Contains(line, outside) && !strings.Contains(line, "http://www.w3.org/2000/svg") && !strings.Contains(line, "src=x onerror") && !strings.Contains(line, "img src") {
				t.Errorf("the page refers to something outside: %.200s", line)
			}
		}
	}
}

// TestWriteBrowserPages writes the pages that the browser tests in tools/browser open.
func TestWriteBrowserPages(t *testing.T) {
	if *pagesDir == "" {
		t.Skip("run by the tests in tools/browser")
	}
	empty, greedy := &Tree{About: deployment("web"), Roots: []*Node{}}, deployment("greedy")
	greedy.Namespace = "small"
	widget := loopJournal(120, 0, "")
	loop, err := Build(widget, widget[0].Event.(*observe.Delivered).Object, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tree := range map[string]*Tree{
		"trace-loop": loop, "trace-cascade": buildTree(t, "cascade", deployment("web"), Options{}), "trace-conflict": buildTree(t, "conflict", deployment("busy"), Options{}),
		"trace-rollout": buildTree(t, "rollout", deployment("web"), Options{}), "trace-hostile": hostileTree(), "trace-empty": empty,
		"trace-client": clientTree(longNames...), "trace-wide": clientTree(append(slices.Clone(longNames),
			"horizontal-pod-autoscaler-controller", "job-controller", "replicaset-controller", "deployment-controller", "endpointslice-controller", "kube-scheduler", "simulated-kubelet", "garbage-collector-controller")...),
		"trace-folded": buildTree(t, "quota", greedy, Options{}),
	} {
		page := writeString(t, tree, HTML, Style{})
		if err := os.WriteFile(filepath.Join(*pagesDir, name+".html"), []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
