package rest

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// interventionRequest is the body of a POST to ControllersPath/VERB or ClientsPath/VERB.
type interventionRequest struct {
	Names []string `json:"names"`           // of the controllers or clients
	Delay string   `json:"delay,omitempty"` // as time.ParseDuration reads it
	control.Change
}

// changedActors are the controllers or clients that a verb has changed.
type changedActors struct {
	Names []string `json:"names"`
}

// maxNameLength is the length in bytes of the longest name of a controller or client that is looked up.
const maxNameLength = 4096

// heldParameter is the parameter of a step that does not wait for a write.
const heldParameter = "held"

// limitParameter is the number of held writes that are listed.
const limitParameter = "limit"

// defaultHeldLimit is the number of held writes that are listed if a request does not say.
const defaultHeldLimit = 100

// handleInterventions serves interventions below a path.
func handleInterventions(mux *http.ServeMux, path string, i control.Intervener) {
	for _, verb := range control.Verbs {
		handleBody(mux, "POST "+path+"/"+verb, func(req *http.Request, body interventionRequest) (any, error) {
			change, err := body.change(verb)
			if err != nil {
				return nil, err
			}
			names, err := i.Change(req.Context(), body.Names, change)
			return changedActors{orEmpty(names)}, err
		})
	}
	handleBody(mux, "POST "+path+"/step", func(req *http.Request, body interventionRequest) (any, error) {
		if err := body.check("step"); err != nil {
			return nil, err
		}
		if len(body.Names) != 1 {
			return nil, usage.Errorf("step: name one, got %q", body.Names)
		}
		wait, params := control.StepTimeout, req.URL.Query()
		if params.Has(heldParameter) {
			held, err := parseBool(heldParameter, params.Get(heldParameter))
			if err != nil {
				return nil, err
			}
			if held {
				wait = 0
			}
		}
		return i.StepWithin(req.Context(), body.Names[0], wait)
	}, heldParameter)
	handle(mux, "GET "+path+"/held", func(req *http.Request) (any, error) {
		params := req.URL.Query()
		limit := defaultHeldLimit
		if params.Has(limitParameter) {
			var err error
			if limit, err = parseNumber(limitParameter, params.Get(limitParameter), 0); err != nil {
				return nil, err
			}
		}
		list, err := i.HeldWrites(req.Context(), params.Get(nameParameter), limit)
		list.Items = orEmpty(list.Items)
		return list, err
	}, nameParameter, limitParameter)
}

// check refuses a body that names nothing, or has what only another verb uses: it is probably not what the client means.
func (body interventionRequest) check(verb string) error {
	if len(body.Names) == 0 {
		return usage.Errorf(`%s: no names are given: name one or more, or "*" for all`, verb)
	}
	for _, name := range body.Names {
		if len(name) > maxNameLength {
			return usage.Errorf("%s: a name has %d bytes: use one of at most %d", verb, len(name), maxNameLength)
		}
	}
	for _, f := range []struct {
		name, of string
		isSet    bool
	}{
		{"delay", control.Delay, body.Delay != ""},
		{"fault", control.Fail, body.Fault != control.Fault{}},
		{"workers", control.Scale, body.Workers != 0},
	} {
		if f.isSet && f.of != verb {
			return usage.Errorf("%s: it has no %s: that is of %s", verb, f.name, f.of)
		}
	}
	return nil
}

func (body interventionRequest) change(verb string) (change control.Change, err error) {
	if err := body.check(verb); err != nil {
		return change, err
	}
	change = body.Change
	change.Verb = verb
	switch {
	case verb == control.Delay:
		if change.Delay, err = time.ParseDuration(body.Delay); err != nil {
			return change, usage.Errorf("delay: %w", err)
		}
	case verb == control.Fail && change.Fault == (control.Fault{}):
		return change, usage.Errorf("fail: no fault is given")
	}
	return change, nil
}

// Interventions returns the interventions in the controllers of the control plane.
func (c *Client) Interventions() control.Interventions {
	return control.NewInterventions(intervener{c, ControllersPath})
}

// ClientInterventions returns the interventions in the clients of the control plane.
func (c *Client) ClientInterventions() control.Interventions {
	return control.NewInterventions(intervener{c, ClientsPath})
}

type intervener struct {
	client *Client
	path   string
}

// Change implements control.Intervener.
func (i intervener) Change(ctx context.Context, names []string, c control.Change) ([]string, error) {
	body := interventionRequest{Names: names, Change: c}
	if c.Verb == control.Delay {
		body.Delay = c.Delay.String()
	}
	var changed changedActors
	err := i.client.do(ctx, http.MethodPost, i.path+"/"+c.Verb, nil, body, &changed)
	return changed.Names, err
}

// StepWithin implements control.Intervener.
func (i intervener) StepWithin(ctx context.Context, name string, wait time.Duration) (stepped *control.SteppedWrite, err error) {
	var params url.Values
	if wait == 0 {
		params = url.Values{heldParameter: {"true"}}
	}
	err = i.client.do(ctx, http.MethodPost, i.path+"/step", params, interventionRequest{Names: []string{name}}, &stepped)
	return stepped, err
}

// HeldWrites implements control.Intervener.
func (i intervener) HeldWrites(ctx context.Context, name string, limit int) (list control.HeldWriteList, err error) {
	params := url.Values{nameParameter: {name}, limitParameter: {strconv.Itoa(limit)}}
	err = i.client.do(ctx, http.MethodGet, i.path+"/held", params, nil, &list)
	return list, err
}
