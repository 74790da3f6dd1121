package trace

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// retriedJob is why the last of n Pods of a Job was created: each has failed but the last.
func retriedJob(n int, all bool) *Chain {
	c := &Chain{About: observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: fmt.Sprintf("retry-%d", n)}, What: Created, Complete: true, all: all}
	for i := n; i > 0; i-- {
		pod := &observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: fmt.Sprintf("retry-%d", i)}
		c.Links = append(c.Links,
			&Node{ID: fmt.Sprintf("r%d", i), Kind: Call, Controller: "job-controller", Verb: "create", Object: pod, Status: 201},
			&Node{Kind: Sync, Controller: "job-controller", Queue: "job", Key: "default/retry"})
		if i > 1 {
			failed := *pod
			failed.Name = fmt.Sprintf("retry-%d", i-1)
			c.Links = append(c.Links,
				&Node{Kind: Event, Controller: "job-controller", Change: observe.Updated, Object: &failed},
				&Node{Kind: Call, Controller: "simulated-kubelet", Verb: "patch", Subresource: "status", Object: &failed, Status: 200},
				&Node{Kind: Sync, Controller: "simulated-kubelet", Queue: "pods", Key: "default/" + failed.Name, LogLines: []string{fmt.Sprintf(`"Container failed" container=c exitCode=%d`, i-1)}})
		}
	}
	return c
}

// The last and the first failure are shown, and not what is between them.
func TestRepeatedAttemptsAreFolded(t *testing.T) {
	for n, want := range map[int]string{2: "", 3: "", 4: "1 more attempt in between", 40: "37 more attempts in between"} {
		text := writeString(t, retriedJob(n, false), Text, Style{})
		if folded := strings.Contains(text, "in between"); folded != (want != "") || !strings.Contains(text, want) || strings.Count(text, "\n") > 30 {
			t.Errorf("%d Pods:\n%s", n, text)
		}
		for _, code := range []int{1, n - 1} {
			if !strings.Contains(text, fmt.Sprintf("exitCode=%d\n", code)) {
				t.Errorf("%d Pods: the text does not say how Pod %d has failed:\n%s", n, code, text)
			}
		}
	}
	if text := writeString(t, retriedJob(40, true), Text, Style{}); strings.Contains(text, "in between") || !strings.Contains(text, "exitCode=20\n") {
		t.Errorf("with --all:\n%s", text)
	}
}

// Attempts that have failed for another reason are drawn.
func TestDifferentFailuresAreNotFolded(t *testing.T) {
	const quota = `pods "web-%d" is forbidden: exceeded quota: two, requested: pods=1, used: pods=%[1]d, limited: pods=2`
	const webhook = `admission webhook "a.example.com" denied the request: no`
	for name, tc := range map[string]struct {
		reason func(attempt int) string
		want   int // lines
	}{
		"generated names and usage": {func(i int) string { return fmt.Sprintf(quota, i) }, 3},
		"one of them differs": {func(i int) string {
			if i == 5 {
				return webhook
			}
			return fmt.Sprintf(quota, i)
		}, 3 + 1 + 4},
		"permission": {func(i int) string { return fmt.Sprintf(`pods "web-%d" is forbidden: no %d`, i, i%2) }, 10},
	} {
		var items []item
		for i := range 10 {
			n := &Node{Kind: Call, Controller: "c", Verb: "create", Object: &observe.Object{Resource: "pods", Namespace: "default"}, Status: 403, Error: tc.reason(i)}
			items = append(items, item{n, n})
		}
		if lines := foldRepeated(items, false); len(lines) != tc.want {
			t.Errorf("%s: %d lines, want %d", name, len(lines), tc.want)
		}
	}
}

// The hint names the option: a command without the object fails.
func TestHintsNameTheOption(t *testing.T) {
	greedy := deployment("greedy")
	greedy.Namespace = "small"
	for _, text := range []string{
		writeString(t, buildTree(t, "quota", greedy, Options{}), Text, Style{}),
		writeString(t, retriedJob(9, false), Text, Style{}),
	} {
		if !strings.Contains(text, ": --all shows them") {
			t.Errorf("no hint:\n%s", text)
		}
	}
}

// Diagrams fold what the text folds, and say so in the same words.
func TestDiagramsFoldWhatTheTextFolds(t *testing.T) {
	greedy := deployment("greedy")
	greedy.Namespace = "small"
	tree := func(journal string, about observe.Object) func(all bool) writer {
		return func(all bool) writer { return buildTree(t, journal, about, Options{All: all}) }
	}
	rounds := func(change observe.Change) func(all bool) writer { // of which the first one is an event of this kind
		loop := loopJournal(60, 0, "")
		first := loop[0].Event.(*observe.Delivered)
		first.Change = change
		return func(all bool) writer {
			tree, err := Build(loop, first.Object, Options{All: all})
			if err != nil {
				t.Fatal(err)
			}
			return tree
		}
	}
	hint := regexp.MustCompile(`… .*: --all shows them`)
	for name, build := range map[string]func(all bool) writer{
		"attempts":                 tree("quota", greedy),
		"rounds":                   rounds(observe.Updated),
		"rounds behind a creation": rounds(observe.Added),
		"chain":                    func(all bool) writer { return retriedJob(9, all) },
	} {
		hints := hint.FindAllString(writeString(t, build(false), Text, Style{}), -1)
		if len(hints) == 0 {
			t.Errorf("%s: the text folds nothing", name)
		}
		for _, f := range []Format{Mermaid, HTML} {
			folded, all := writeString(t, build(false), f, Style{}), writeString(t, build(true), f, Style{})
			for _, h := range hints {
				if n := strings.Count(folded, h); n == 0 || strings.Contains(all, h) {
					t.Errorf("%s, %s: %q is said %d times; with --all: %v", name, f, h, n, strings.Contains(all, h))
				}
			}
			if len(folded) >= len(all) {
				t.Errorf("%s, %s: %d characters, with --all %d", name, f, len(folded), len(all))
			}
		}
	}
}

// The page of a chain begins with the sentence of the text, also if the chain begins with a sync.
func TestPageOfAChainHasTheSentenceOfTheText(t *testing.T) {
	const want = "job-controller created Pod retry-9."
	for _, f := range []Format{Text, HTML} {
		if got := writeString(t, retriedJob(9, false), f, Style{}); !strings.Contains(got, want) {
			t.Errorf("%s: no %q in\n%s", f, want, got)
		}
	}
}

// Each step follows from another one that is drawn, also if its cause is folded.
func TestFoldedStepsHaveCauses(t *testing.T) {
	greedy := deployment("greedy")
	greedy.Namespace = "small"
	steps := phrases{}.newDiagram(buildTree(t, "quota", greedy, Options{})).Steps
	n := 0
	for i, s := range steps {
		if s.Cause >= i || s.Cause < 0 && i > 0 {
			t.Errorf("step %d %q has cause %d", i, s.Label, s.Cause)
		}
		if s.Kind != foldedKind {
			continue
		}
		n++
		if s.Tone != "bad" || s.Label != strings.TrimSuffix(s.Facts[0][1], ": --all shows them") {
			t.Errorf("step %d: %+v", i, s)
		}
		if !slices.ContainsFunc(steps, func(o pageStep) bool { return o.Cause == i }) {
			t.Errorf("nothing follows from step %d", i)
		}
	}
	if n == 0 {
		t.Error("nothing is folded")
	}
}

// Attempts that have failed are drawn as failures, also if each of them begins with an event of its own.
func TestFoldedFailuresHaveTheirTone(t *testing.T) {
	about := deployment("web")
	root := &Node{ID: "root", Kind: Call, Controller: "kubectl (admin)", Verb: "create", Object: &about, Status: 201, root: true}
	for i := range 6 {
		seen := pod(fmt.Sprintf("web-%d", i))
		event := &Node{ID: fmt.Sprintf("e%d", i), Kind: Event, Controller: "deployment-controller", Change: observe.Updated, Object: &seen, Cause: &Cause{ID: "root"}}
		event.Children = []*Node{{ID: fmt.Sprintf("s%d", i), Kind: Sync, Controller: "deployment-controller", Key: "default/web", Failed: true, Error: "no quota", Cause: &Cause{ID: event.ID}}}
		root.Children = append(root.Children, event)
	}
	const label = "… 4 more attempts failed in the same way"
	steps := phrases{}.newDiagram(&Tree{About: about, Roots: []*Node{root}}).Steps
	i := slices.IndexFunc(steps, func(s pageStep) bool { return s.Label == label })
	if i < 0 || steps[i].Tone != "bad" {
		t.Errorf("no failed step %q in %+v", label, steps)
	}
}

// A diagram has the colons of texts and names, and says which conflicts were retried.
func TestMermaidKeepsColons(t *testing.T) {
	about := deployment("busy")
	got := writeString(t, buildTree(t, "conflict", about, Options{}), Mermaid, Style{})
	for _, want := range []string{"conflict: deployment-controller had modified the object to version 223, retried", "conflict: it had itself modified the object to version 228, retried"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got, want := writeString(t, clientTree(longNames...), Mermaid, Style{}), "participant c1 as shop-operator (system:serviceaccount:default:bot)"; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

// What a queue does again and again for a Pod that fits no node is drawn once, and counted; what differs is drawn.
func TestRequeuedSyncsAreFolded(t *testing.T) {
	big := pod("big")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	records := []observe.Record{
		{Seq: 1, Time: at, Event: &observe.Called{
			Controller: "kubectl (admin)", Client: &observe.Caller{}, Verb: "create", Object: big, Status: 201, ResourceVersion: "7", Began: at,
			Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: "big", ResourceVersion: "7"}}}},
		{Seq: 2, Time: at, Event: &observe.Delivered{Controller: "kube-scheduler", Change: observe.Added, Object: big, ResourceVersion: "7", Queues: []string{"active"}, Adds: []uint64{1}}},
	}
	for i := range uint64(40) {
		s := &observe.Synced{Controller: "kube-scheduler", Queue: "active", ID: 100 + i, Key: "default/big", KeyBasis: observe.BasisQueue, Add: 1 + i, Sure: true, Retried: true}
		if i == 0 {
			s.Cause = 2
		} else {
			s.CauseSync = s.ID - 1
		}
		at = at.Add(10 * time.Second)
		why := "There are no nodes"
		if i >= 30 {
			why = "No node fits"
		}
		records = append(records, observe.Record{Seq: 10 + 2*i, Time: at, Event: s},
			observe.Record{Seq: 11 + 2*i, Time: at, Event: &observe.Logged{Controller: "kube-scheduler", Sync: s.ID, Message: why}})
	}
	last := records[len(records)-2].Event.(*observe.Synced)
	last.Retried = false
	records = append(records, observe.Record{Seq: 100, Time: at, Event: &observe.Called{
		Controller: "kube-scheduler", Verb: "patch", Subresource: "status", Object: big, Status: 200, ResourceVersion: "8", Began: at, Sync: last.ID,
		Wrote: []observe.Written{{Resource: "pods", Namespace: "default", Name: "big", ResourceVersion: "8"}}}})
	for all, want := range map[bool]int{false: 2 + 2 + 1, true: 39} {
		tree, err := Build(records, big, Options{All: all})
		if err != nil {
			t.Fatal(err)
		}
		text := writeString(t, tree, Text, Style{})
		if n := strings.Count(text, "synced big again"); n != want {
			t.Errorf("all is %v: %d syncs are drawn, want %d:\n%s", all, n, want, text)
		}
		for _, s := range []string{"… 27 more syncs like this: --all shows them", "… 7 more syncs like this: --all shows them"} {
			if strings.Contains(text, s) == all {
				t.Errorf("all is %v, %q:\n%s", all, s, text)
			}
		}
		if strings.Count(text, "No node fits") != 1 {
			t.Errorf("all is %v: another reason is not drawn:\n%s", all, text)
		}
	}
}

// It is seen where a value of several words, or an empty one, ends.
func TestLogLinesHaveQuotes(t *testing.T) {
	records := recorded(
		&observe.Logged{Controller: "kube-scheduler", Level: -2, Message: "No node fits", Sync: 7, Attrs: []observe.Attr{{Key: "NodeAffinity", Value: "node(s) didn't match (1 of 1 nodes)"}, {Key: "need", Value: "3"}, {Key: "reason"}}},
		&observe.Synced{Controller: "kube-scheduler", ID: 7, Key: "default/a", Queue: "active"},
	)
	var got []string
	for _, n := range newGraph(records, observe.Object{}, Options{}).syncs {
		got = append(got, logNotes(n.LogLines)...)
	}
	want := []string{`logs "No node fits" NodeAffinity="node(s) didn't match (1 of 1 nodes)" need=3 reason=""`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
