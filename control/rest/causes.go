package rest

import (
	"context"
	"net/http"
	"net/url"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// objectParameters identify an object.
var objectParameters = []string{"group", "resource", "kind", "namespace", "name", "uid"}

// ParseObject returns the object that the parameters of a request identify.
func ParseObject(p url.Values) (observe.Object, error) {
	o := observe.Object{
		Group: p.Get("group"), Resource: p.Get("resource"), Kind: p.Get("kind"),
		Namespace: p.Get("namespace"), Name: p.Get("name"), UID: p.Get("uid"),
	}
	if o.Name == "" || o.Resource == "" {
		return o, usage.Errorf("an object needs a resource and a name")
	}
	return o, checkResource(o.Group, o.Resource)
}

// whatParameter is the change that WhyPath explains.
const whatParameter = "what"

// maxTraces limits the traces at the same time: each reads all records.
const maxTraces = 2

// handleCauses serves what an object has caused, and what has caused its changes.
func (s Services) handleCauses(mux *http.ServeMux) {
	turns := make(chan struct{}, maxTraces)
	serve := func(path string, build func(context.Context, url.Values, observe.Object) (any, error), parameters ...string) {
		handle(mux, "GET "+path, func(req *http.Request) (any, error) {
			params := req.URL.Query()
			about, err := ParseObject(params)
			if err != nil {
				return nil, err
			}
			select {
			case turns <- struct{}{}:
				defer func() { <-turns }()
			case <-req.Context().Done():
				return nil, context.Cause(req.Context())
			}
			return build(req.Context(), params, about)
		}, append(parameters, objectParameters...)...)
	}
	serve(TracePath, s.trace)
	serve(WhyPath, s.why, whatParameter)
}

func (s Services) trace(ctx context.Context, _ url.Values, about observe.Object) (any, error) {
	var o trace.Options
	records, err := o.ReadRecords(ctx, s.Source)
	if err != nil {
		return nil, err
	}
	tree, err := trace.Build(records, about, o)
	if err != nil {
		return nil, notFoundError{err}
	}
	return tree, nil
}

func (s Services) why(ctx context.Context, params url.Values, about observe.Object) (any, error) {
	var o trace.Options
	what, err := trace.ParseWhat(params.Get(whatParameter))
	if err != nil {
		return nil, usage.Errorf("parameter what: %w", err)
	}
	o.What = what
	records, err := o.ReadRecords(ctx, s.Source)
	if err == nil {
		err = o.ReadFailing(ctx, s.Source, records, about)
	}
	if err != nil {
		return nil, err
	}
	chain, err := trace.Why(records, about, o)
	if err != nil {
		return nil, notFoundError{err}
	}
	return chain, nil
}

// notFoundError says that records have nothing about an object or its change.
type notFoundError struct{ error }
