package trace

import (
	"fmt"
	"strings"
	"testing"

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
				&Node{Kind: Sync, Controller: "simulated-kubelet", Queue: "pods", Key: "default/" + failed.Name, LogLines: []string{fmt.Sprintf("Container failed container=c exitCode=%d", i-1)}})
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
			if !strings.Contains(text, fmt.Sprintf("exitCode=%d\"", code)) {
				t.Errorf("%d Pods: the text does not say how Pod %d has failed:\n%s", n, code, text)
			}
		}
	}
	if text := writeString(t, retriedJob(40, true), Text, Style{}); strings.Contains(text, "in between") || !strings.Contains(text, "exitCode=20\"") {
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
