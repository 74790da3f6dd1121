package ctrlplanetest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	explainTimeout   = 10 * time.Second
	maxActivityLines = 30
	maxProblems      = 10
)

// wasExplained tells whether that has been done for a test.
func (p *ControlPlane) wasExplained(t testing.TB) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.explainedTest == t
}

// explainFailure logs why a test may have failed: what the controllers did in its
// namespace ("" = all) after a record, and what is not healthy there.
func (p *ControlPlane) explainFailure(t testing.TB, namespace string, after uint64) {
	p.mu.Lock()
	p.explainedTest = t
	p.mu.Unlock()
	all, stop := p.testContext(t)
	defer stop()
	ctx, cancel := withTimeout(all, explainTimeout)
	defer cancel()
	where := "in namespace " + namespace
	if namespace == "" {
		where = "in all namespaces"
	}
	records, err := p.fetchRecords(ctx, namespace, observe.Query{Notable: true, After: after})
	if err != nil {
		t.Logf("ctrlplanetest: what controllers did %s is not known: %v", where, err)
		return
	}
	t.Logf("ctrlplanetest: what controllers did %s:\n%s", where, formatActivity(records, namespace))
	problems, err := p.findProblems(ctx, namespace)
	if len(problems) > 0 {
		t.Logf("ctrlplanetest: not healthy %s:\n    %s", where, strings.Join(problems, "\n    "))
	}
	if err != nil {
		t.Logf("ctrlplanetest: not all objects %s could be looked at: %v", where, err)
	}
}

// activityLine is what a controller did, and how often it then did the same again.
type activityLine struct {
	first, last        time.Time
	controller, action string
	repeats            int
}

// quotedText is what differs where a controller tries the same again: names, mostly.
var quotedText = regexp.MustCompile(`"[^"]*"`)

func (l activityLine) sameAs(m activityLine) bool {
	return l.controller == m.controller && quotedText.ReplaceAllString(l.action, "") == quotedText.ReplaceAllString(m.action, "")
}

// formatActivity tells the writes and failures of controllers, the newest ones, a line each.
func formatActivity(records []observe.Record, namespace string) string {
	var lines []activityLine
	for _, r := range records {
		who, what := describeEvent(r.Event, namespace)
		l := activityLine{r.Time, r.Time, who, what, 0}
		switch n := len(lines) - 1; {
		case what == "" || n >= 0 && repeatsCallError(r.Event, lines[n]):
		case n >= 0 && lines[n].sameAs(l):
			lines[n].repeats++
			lines[n].last = r.Time
		default:
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return "    nothing: no write and no failure of theirs is known"
	}
	var b strings.Builder
	began := lines[0].first
	if more := len(lines) - maxActivityLines; more > 0 {
		fmt.Fprintf(&b, "    … %d earlier ones\n", more)
		lines = lines[more:]
	}
	width := 0
	for _, l := range lines {
		width = max(width, len(l.controller))
	}
	for _, l := range lines {
		fmt.Fprintf(&b, "    %+7.3fs  %-*s  %s", l.first.Sub(began).Seconds(), width, l.controller, l.action)
		switch over := l.last.Sub(l.first).Seconds(); {
		case l.repeats == 1:
			fmt.Fprintf(&b, " (once more after %.1fs)", over)
		case l.repeats > 1:
			fmt.Fprintf(&b, " (%d times more in %.1fs)", l.repeats, over)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// repeatsCallError tells whether an event is a sync that failed with the error of the call
// that the line before tells.
func repeatsCallError(e observe.Event, before activityLine) bool {
	s, ok := e.(*observe.Synced)
	return ok && s.Failed() && s.Controller == before.controller && strings.HasSuffix(
		quotedText.ReplaceAllString(before.action, ""), quotedText.ReplaceAllString(collapseSpaces(s.Error), ""))
}

// pastTense is a verb for what has been done.
var pastTense = map[string]string{"create": "created", "update": "updated", "patch": "patched", "delete": "deleted", "deletecollection": "deleted every"}

// describeEvent is an event in words, without the namespace that is known; "" if it is no
// write and no failure.
func describeEvent(e observe.Event, namespace string) (who, what string) {
	switch e := e.(type) {
	case *observe.Called:
		object := e.Object
		if object.Namespace == namespace {
			object.Namespace = ""
		}
		name := object.String()
		if e.Subresource != "" {
			name += " (" + e.Subresource + ")"
		}
		switch {
		case e.Failed():
			return e.Controller, fmt.Sprintf("could not %s %s: %d %s", e.Verb, name, e.Status, collapseSpaces(e.Error))
		case e.IsWrite() && !e.IsRoutine():
			return e.Controller, pastTense[e.Verb] + " " + name
		}
	case *observe.Synced:
		if e.Failed() {
			return e.Controller, fmt.Sprintf("failed to sync %s: %s", strings.TrimPrefix(e.Key, namespace+"/"), collapseSpaces(e.Error))
		}
	}
	return "", ""
}

func collapseSpaces(text string) string { return strings.Join(strings.Fields(text), " ") }

// findProblems tells which objects in a namespace are not healthy, and why; the error
// says that not all could be looked at.
func (p *ControlPlane) findProblems(ctx context.Context, namespace string) ([]string, error) {
	lists, failed := discovery.ServerPreferredNamespacedResourcesWithContext(ctx, p.client.DiscoveryClient)
	var problems []string
	for _, gvr := range listableResources(lists, "list") {
		list, err := p.dynamic.Resource(gvr).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			failed = preferCause(ctx, err)
			continue
		}
		for i := range list.Items {
			u := &list.Items[i]
			if s := health.StateOf(u); s.Status != health.Current && len(problems) < maxProblems {
				problems = append(problems, fmt.Sprintf("%s: %s", s.Ref, p.health.Why(ctx, u)))
			}
		}
	}
	slices.Sort(problems)
	return problems, failed
}

// listableResources are the resources that can be listed and understand a verb.
func listableResources(lists []*metav1.APIResourceList, verb string) []schema.GroupVersionResource {
	var all []schema.GroupVersionResource
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			continue // no API server says that
		}
		for _, r := range l.APIResources {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, verb) {
				all = append(all, gv.WithResource(r.Name))
			}
		}
	}
	return all
}
