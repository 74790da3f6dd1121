package ctrlplanetest

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	explainTimeout   = 10 * time.Second
	maxActivityLines = 30
	maxProblems      = 10
)

// wasExplained reports whether the failure of a test has been explained.
func (p *ControlPlane) wasExplained(t testing.TB) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.explainedTest == t
}

// explainFailure logs why a test may have failed: what the controllers did after a
// record, and what is not healthy. An empty namespace stands for all.
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
		t.Logf("ctrlplanetest: cannot read what controllers did %s: %v", where, err)
		return
	}
	t.Logf("ctrlplanetest: what controllers did %s:\n%s", where, formatActivity(records, namespace))
	problems, err := p.findProblems(ctx, namespace)
	if len(problems) > 0 {
		t.Logf("ctrlplanetest: not healthy %s:\n    %s", where, strings.Join(problems, "\n    "))
	}
	if err != nil {
		t.Logf("ctrlplanetest: cannot check all objects %s: %v", where, err)
	}
	p.explainInterventions(ctx, t)
}

// explainInterventions logs which controllers and clients are paused, stopped or otherwise changed.
func (p *ControlPlane) explainInterventions(ctx context.Context, t testing.TB) {
	now, err := p.control.Snapshot(ctx)
	if err != nil {
		t.Logf("ctrlplanetest: cannot read which interventions are in effect: %v", preferCause(ctx, err))
		return
	}
	var lines []string
	add := func(name, state, reason string, held int) {
		lines = append(lines, fmt.Sprintf("\n    %s is %s: %s; held writes: %d", name, state, reason, held))
	}
	for _, c := range now.Controllers {
		if c.HasIntervention() {
			add(c.Name, c.State, c.Reason, c.Held)
		}
	}
	for _, c := range now.Clients {
		if c.HasIntervention() {
			add(c.Name, c.State, c.Reason, c.Held)
		}
	}
	if len(lines) > 0 {
		t.Logf("ctrlplanetest: interventions in effect, which may be why:%s", strings.Join(lines, ""))
	}
}

// activityLine is one action of a controller, and how often it was repeated.
type activityLine struct {
	first, last        time.Time
	controller, action string
	repeats            int
}

// quotedText matches what differs between repeated attempts, mostly names.
var quotedText = regexp.MustCompile(`"[^"]*"`)

func (l activityLine) sameAs(m activityLine) bool {
	return l.controller == m.controller && quotedText.ReplaceAllString(l.action, "") == quotedText.ReplaceAllString(m.action, "")
}

// formatActivity formats the newest writes and failures of controllers, one per line.
func formatActivity(records []observe.Record, namespace string) string {
	reported := observe.ReportWrites(records)
	var lines []activityLine
	for _, r := range records {
		if c, ok := r.Event.(*observe.Called); ok && c.RemovedNothing(reported) {
			continue
		}
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
		return "    nothing: no write and no failure is recorded"
	}
	var b strings.Builder
	began := lines[0].first
	if more := len(lines) - maxActivityLines; more > 0 {
		fmt.Fprintf(&b, "    … %d earlier\n", more)
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
			fmt.Fprintf(&b, " (repeated after %.1fs)", over)
		case l.repeats > 1:
			fmt.Fprintf(&b, " (repeated %d times in %.1fs)", l.repeats, over)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// repeatsCallError reports whether an event is a sync that failed with the error of
// the call in the line before.
func repeatsCallError(e observe.Event, before activityLine) bool {
	s, ok := e.(*observe.Synced)
	return ok && s.Failed() && s.Controller == before.controller && strings.HasSuffix(
		quotedText.ReplaceAllString(before.action, ""), quotedText.ReplaceAllString(collapseSpaces(s.Error), ""))
}

// pastTense has the past tense of each verb.
var pastTense = map[string]string{"create": "created", "update": "updated", "patch": "patched", "delete": "deleted", "deletecollection": "deleted every"}

// describeEvent says who has made a write or has failed, and what that is, without the given namespace;
// what is empty for any other event.
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
		who = e.Controller
		if e.Client != nil && e.Client.Impersonates != "" {
			who += " as " + e.Client.Impersonates
		}
		switch {
		case e.IsFailure():
			return who, fmt.Sprintf("could not %s %s: %s", e.Verb, name, failureReason(e))
		case e.Verb == observe.VerbRestore:
			return who, describeRestored(e, name)
		case !e.IsWrite() || e.IsRoutine() || e.FoundGone():
		case e.Selected:
			return who, "deleted " + nameSelected(object)
		default:
			return who, pastTense[e.Verb] + " " + name
		}
	case *observe.Synced:
		if e.Failed() {
			return e.Controller, fmt.Sprintf("failed to sync %s: %s", strings.TrimPrefix(e.Key, namespace+"/"), collapseSpaces(e.Error))
		}
	}
	return "", ""
}

// failureReason says why a call failed. Without an answer it has no status.
func failureReason(e *observe.Called) string {
	text := collapseSpaces(e.Error)
	if e.Status == 0 {
		return cmp.Or(text, "no answer")
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, text))
}

// describeRestored says what the restore of a snapshot has done to an object.
func describeRestored(e *observe.Called, name string) string {
	if slices.ContainsFunc(e.Wrote, func(w observe.Written) bool { return w.Deleted }) {
		return "removed " + name + ": the restored snapshot does not have it"
	}
	return "restored " + name + ", as it is in a snapshot"
}

// nameSelected names the objects of a collection that a delete with a selector is for.
func nameSelected(o observe.Object) string {
	s := o.GroupResource()
	if o.Kind != "" {
		s = o.Kind + "s"
	}
	if s = "the " + s + " that match a selector"; o.Namespace != "" {
		s += " in " + o.Namespace
	}
	return s
}

func collapseSpaces(text string) string { return strings.Join(strings.Fields(text), " ") }

// findProblems returns a line for each unhealthy object in a namespace, with the
// reason. The error says that not all objects could be checked.
func (p *ControlPlane) findProblems(ctx context.Context, namespace string) ([]string, error) {
	resources, failed := kinds.Namespaced(ctx, p.client.DiscoveryClient, "list")
	var problems []string
	why := p.health.WhyOf(ctx)
	for _, gvr := range resources {
		list, err := p.dynamic.Resource(gvr).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			failed = preferCause(ctx, err)
			continue
		}
		for i := range list.Items {
			u := &list.Items[i]
			if s := health.StateOf(u); s.Status != health.Current && len(problems) < maxProblems {
				problems = append(problems, fmt.Sprintf("%s: %s", s.Ref, why(u)))
			}
		}
	}
	slices.Sort(problems)
	return problems, failed
}
