package learn

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/ctrlplane/ctrlplane/observe"
)

// countRecords counts the records that r selects.
func (p *probe) countRecords(ctx context.Context, r *Records) (value, error) {
	q := observe.Query{Kinds: []observe.Kind{observe.Kind(r.Kind)}, Reads: r.Verb != ""}
	if r.Kind == "" {
		q.Kinds[0] = observe.KindCalled
	}
	if r.Controller != "" {
		var err error
		if q.Controller, err = p.resolveController(r.Controller); err != nil {
			return value{}, err
		}
	}
	records := p.recordsOfPart
	if r.Lesson {
		records = p.recordsOfLesson
	}
	page, err := records(ctx, q)
	if err != nil {
		return value{}, err
	}
	n := 0
	for _, rec := range page.Records {
		if (r.Anywhere || p.shell.inLesson(rec.Event)) && r.matches(rec.Event) {
			n++
		}
	}
	return value{text: strconv.Itoa(n)}, nil
}

// isOfLesson reports whether a namespace is that of the lesson, main, or a further one of it.
func isOfLesson(namespace, main string) bool {
	return namespace == main || strings.HasPrefix(namespace, main+"-")
}

// inLesson reports whether an event is about the lesson's namespaces.
func (s *shell) inLesson(e observe.Event) bool {
	in := func(namespace string) bool { return isOfLesson(namespace, s.namespace) }
	object := func(o observe.Object) bool {
		return in(o.Namespace) || o.Namespace == "" && (o.Resource == "namespaces" || o.Kind == "Namespace") && in(o.Name)
	}
	switch e := e.(type) {
	case *observe.Called:
		return object(e.Object)
	case *observe.Delivered:
		return object(e.Object)
	case *observe.Synced:
		namespace, _, _ := strings.Cut(strings.TrimPrefix(e.Key, "["), "/")
		return in(namespace) || strings.Contains(e.Key, "namespace: "+s.namespace)
	case *observe.Logged:
		for _, a := range e.Attrs {
			if strings.Contains(a.Value, s.namespace+"/") || in(a.Value) {
				return true
			}
		}
	}
	return false
}

// matches reports whether r selects an event whose kind and controller match.
func (r *Records) matches(e observe.Event) bool {
	switch e := e.(type) {
	case *observe.Called:
		return matchesString(r.Verb, e.Verb) && r.matchesResource(e.Object.Resource, e.Subresource) && (r.Status == 0 || r.Status == e.Status) &&
			r.matchesText(e.Error) && matchesBool(r.Failed, e.IsFailure()) && matchesBool(r.Conflict, e.Conflict)
	case *observe.Synced:
		return matchesString(r.Queue, e.Queue) && r.matchesText(e.Error) && matchesBool(r.Failed, e.Failed()) && matchesBool(r.Retried, e.Retried)
	case *observe.Delivered:
		return matchesString(r.Verb, string(e.Change)) && r.matchesResource(e.Object.Resource, "")
	case *observe.Logged:
		words := []string{e.Message}
		for _, a := range e.Attrs {
			words = append(words, a.Key+"="+a.Value)
		}
		return r.matchesText(strings.Join(words, " "))
	}
	return false
}

func (r *Records) matchesResource(resource, subresource string) bool {
	if subresource != "" {
		resource += "/" + subresource
	}
	return matchesString(r.Resource, resource)
}

func (r *Records) matchesText(text string) bool {
	return r.Says == "" || regexp.MustCompile(r.Says).MatchString(text) // was compiled by validate
}

func matchesString(want, got string) bool { return want == "" || want == got }

func matchesBool(want *bool, got bool) bool { return want == nil || *want == got }
