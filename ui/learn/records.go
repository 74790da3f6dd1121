package learn

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/ctrlplane/ctrlplane/observe"
)

// records counts the records that r selects.
func (p *probe) records(ctx context.Context, r *Records) (value, error) {
	q := observe.Query{After: p.since, Kinds: []observe.Kind{observe.Kind(r.Kind)}, Reads: r.Verb != ""}
	if r.Kind == "" {
		q.Kinds[0] = observe.KindCalled
	}
	if r.Lesson {
		q.After = p.first
	}
	if r.Controller != "" {
		var err error
		if q.Controller, err = p.controller(r.Controller); err != nil {
			return value{}, err
		}
	}
	page, err := p.control.Records(ctx, q)
	if err != nil {
		return value{}, err
	}
	n := 0
	for _, rec := range page.Records {
		if (r.Anywhere || p.shell.ours(rec.Event)) && r.selects(rec.Event) {
			n++
		}
	}
	return value{text: strconv.Itoa(n)}, nil
}

// ours says whether an event is about something in the lesson's namespaces.
func (s *shell) ours(e observe.Event) bool {
	in := func(namespace string) bool {
		return namespace == s.namespace || strings.HasPrefix(namespace, s.namespace+"-")
	}
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

// selects says whether an event is one of those that are meant; its kind and
// its controller are.
func (r *Records) selects(e observe.Event) bool {
	switch e := e.(type) {
	case *observe.Called:
		return is(r.Verb, e.Verb) && r.names(e.Object.Resource, e.Subresource) && (r.Status == 0 || r.Status == e.Status) &&
			r.says(e.Error) && flag(r.Failed, e.Failed()) && flag(r.Conflict, e.Conflict)
	case *observe.Synced:
		return is(r.Queue, e.Queue) && r.says(e.Error) && flag(r.Failed, e.Failed()) && flag(r.Retried, e.Retried)
	case *observe.Delivered:
		return is(r.Verb, string(e.Change)) && r.names(e.Object.Resource, "")
	case *observe.Logged:
		words := []string{e.Message}
		for _, a := range e.Attrs {
			words = append(words, a.Key+"="+a.Value)
		}
		return r.says(strings.Join(words, " "))
	}
	return false
}

func (r *Records) names(resource, subresource string) bool {
	if subresource != "" {
		resource += "/" + subresource
	}
	return is(r.Resource, resource)
}

func (r *Records) says(text string) bool {
	return r.Says == "" || regexp.MustCompile(r.Says).MatchString(text) // compiled when it was read, too
}

func is(want, got string) bool { return want == "" || want == got }

func flag(want *bool, got bool) bool { return want == nil || *want == got }
