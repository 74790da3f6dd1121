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
	explainTime  = 10 * time.Second
	mostRecords  = 30
	mostProblems = 10
)

// explained tells whether that has been done for a test.
func (p *Plane) explained(t testing.TB) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told == t
}

// explain logs why a test may have failed: what the controllers did in its
// namespace ("" = all) after a record, and what is not healthy there.
func (p *Plane) explain(t testing.TB, namespace string, after uint64) {
	p.mu.Lock()
	p.told = t
	p.mu.Unlock()
	all, stop := p.context(t)
	defer stop()
	ctx, cancel := bounded(all, explainTime)
	defer cancel()
	where := "in namespace " + namespace
	if namespace == "" {
		where = "in all namespaces"
	}
	records, err := p.events(ctx, namespace, observe.Query{Notable: true, After: after})
	if err != nil {
		t.Logf("ctrlplanetest: what controllers did %s is not known: %v", where, err)
		return
	}
	t.Logf("ctrlplanetest: what controllers did %s:\n%s", where, story(records, namespace))
	problems, err := p.problems(ctx, namespace)
	if len(problems) > 0 {
		t.Logf("ctrlplanetest: not healthy %s:\n    %s", where, strings.Join(problems, "\n    "))
	}
	if err != nil {
		t.Logf("ctrlplanetest: not all objects %s could be looked at: %v", where, err)
	}
}

// line is what a controller did, and how often it then did the same again.
type line struct {
	at, last  time.Time
	who, what string
	again     int
}

// quoted is what differs where a controller tries the same again: names, mostly.
var quoted = regexp.MustCompile(`"[^"]*"`)

func (l line) same(m line) bool {
	return l.who == m.who && quoted.ReplaceAllString(l.what, "") == quoted.ReplaceAllString(m.what, "")
}

// story tells the writes and failures of controllers, the newest ones, a line each.
func story(records []observe.Record, namespace string) string {
	var lines []line
	for _, r := range records {
		who, what := tell(r.Event, namespace)
		l := line{r.Time, r.Time, who, what, 0}
		switch n := len(lines) - 1; {
		case what == "" || n >= 0 && told(r.Event, lines[n]):
		case n >= 0 && lines[n].same(l):
			lines[n].again++
			lines[n].last = r.Time
		default:
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return "    nothing: no write and no failure of theirs is known"
	}
	var b strings.Builder
	began := lines[0].at
	if more := len(lines) - mostRecords; more > 0 {
		fmt.Fprintf(&b, "    … %d earlier ones\n", more)
		lines = lines[more:]
	}
	width := 0
	for _, l := range lines {
		width = max(width, len(l.who))
	}
	for _, l := range lines {
		fmt.Fprintf(&b, "    %+7.3fs  %-*s  %s", l.at.Sub(began).Seconds(), width, l.who, l.what)
		switch over := l.last.Sub(l.at).Seconds(); {
		case l.again == 1:
			fmt.Fprintf(&b, " (once more after %.1fs)", over)
		case l.again > 1:
			fmt.Fprintf(&b, " (%d times more in %.1fs)", l.again, over)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// told tells whether an event is a sync that failed with the error of the call
// that the line before tells.
func told(e observe.Event, before line) bool {
	s, ok := e.(*observe.Synced)
	return ok && s.Failed() && s.Controller == before.who && strings.HasSuffix(
		quoted.ReplaceAllString(before.what, ""), quoted.ReplaceAllString(words(s.Error), ""))
}

// done is a verb for what has been done.
var done = map[string]string{"create": "created", "update": "updated", "patch": "patched", "delete": "deleted", "deletecollection": "deleted every"}

// tell is an event in words, without the namespace that is known; "" if it is no
// write and no failure.
func tell(e observe.Event, namespace string) (who, what string) {
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
			return e.Controller, fmt.Sprintf("could not %s %s: %d %s", e.Verb, name, e.Status, words(e.Error))
		case e.Write() && !e.Chatter():
			return e.Controller, done[e.Verb] + " " + name
		}
	case *observe.Synced:
		if e.Failed() {
			return e.Controller, fmt.Sprintf("failed to sync %s: %s", strings.TrimPrefix(e.Key, namespace+"/"), words(e.Error))
		}
	}
	return "", ""
}

func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// problems tells which objects in a namespace are not healthy, and why; the error
// says that not all could be looked at.
func (p *Plane) problems(ctx context.Context, namespace string) ([]string, error) {
	lists, failed := discovery.ServerPreferredNamespacedResourcesWithContext(ctx, p.client.DiscoveryClient)
	var problems []string
	for _, gvr := range listable(lists, "list") {
		list, err := p.dynamic.Resource(gvr).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			failed = because(ctx, err)
			continue
		}
		for i := range list.Items {
			u := &list.Items[i]
			if s := health.Of(u); s.Status != health.Current && len(problems) < mostProblems {
				problems = append(problems, fmt.Sprintf("%s: %s", s.Ref, p.health.Why(ctx, u)))
			}
		}
	}
	slices.Sort(problems)
	return problems, failed
}

// listable are the resources that can be listed and understand a verb.
func listable(lists []*metav1.APIResourceList, verb string) []schema.GroupVersionResource {
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
