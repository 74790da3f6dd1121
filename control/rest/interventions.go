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

// heldParameter is the parameter of a step that does not wait for a write.
const heldParameter = "held"

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
			return changedActors{append([]string{}, names...)}, err // [], not null
		})
	}
	handleBody(mux, "POST "+path+"/step", func(req *http.Request, body interventionRequest) (any, error) {
		if len(body.Names) != 1 {
			return nil, usage.Errorf("step: name one, got %q", body.Names)
		}
		wait := control.StepTimeout
		if req.URL.Query().Has(heldParameter) {
			wait = 0
		}
		return i.StepWithin(req.Context(), body.Names[0], wait)
	})
	handle(mux, "GET "+path+"/held", func(req *http.Request) (any, error) {
		params := req.URL.Query()
		limit := defaultHeldLimit
		if text := params.Get("limit"); text != "" {
			var err error
			if limit, err = strconv.Atoi(text); err != nil || limit < 0 {
				return nil, usage.Errorf("parameter limit: %q is not a number of writes", text)
			}
		}
		return i.HeldWrites(req.Context(), params.Get("name"), limit)
	})
}

func (body interventionRequest) change(verb string) (change control.Change, err error) {
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
	params := url.Values{"name": {name}, "limit": {strconv.Itoa(limit)}}
	err = i.client.do(ctx, http.MethodGet, i.path+"/held", params, nil, &list)
	return list, err
}
