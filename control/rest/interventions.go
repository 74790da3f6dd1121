package rest

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/verbs"
)

// interventionRequest is the body of a POST to ControllersPath/VERB or ClientsPath/VERB.
type interventionRequest struct {
	Names   []string       `json:"names"`             // of the controllers or clients
	Delay   string         `json:"delay,omitempty"`   // as time.ParseDuration reads it
	Fault   *control.Fault `json:"fault,omitempty"`   // for fail
	Workers int            `json:"workers,omitempty"` // for scale
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
func handleInterventions(mux *http.ServeMux, path string, i control.Interventions) {
	for _, verb := range verbs.All {
		handleBody(mux, "POST "+path+"/"+verb, func(req *http.Request, body interventionRequest) (any, error) {
			change, err := body.change(verb)
			if err != nil {
				return nil, err
			}
			names, err := change.Apply(req.Context(), i, body.Names)
			return changedActors{append([]string{}, names...)}, err // [], not null
		})
	}
	handleBody(mux, "POST "+path+"/step", func(req *http.Request, body interventionRequest) (any, error) {
		if len(body.Names) != 1 {
			return nil, usage.Errorf("step: name one, got %q", body.Names)
		}
		if req.URL.Query().Has(heldParameter) {
			return i.StepHeld(req.Context(), body.Names[0])
		}
		return i.Step(req.Context(), body.Names[0])
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

func (body interventionRequest) change(verb string) (verbs.Change, error) {
	change := verbs.Change{Verb: verb, Workers: body.Workers}
	switch {
	case verb == verbs.Delay:
		var err error
		if change.Delay, err = time.ParseDuration(body.Delay); err != nil {
			return change, usage.Errorf("delay: %w", err)
		}
	case verb == verbs.Fail && body.Fault == nil:
		return change, usage.Errorf("fail: no fault is given")
	case verb == verbs.Fail:
		change.Fault = *body.Fault
	}
	return change, nil
}

// Interventions returns the interventions in the controllers of the control plane.
func (c *Client) Interventions() control.Interventions {
	return newInterventionsClient(c, ControllersPath)
}

// ClientInterventions returns the interventions in the clients of the control plane.
func (c *Client) ClientInterventions() control.Interventions {
	return newInterventionsClient(c, ClientsPath)
}

type interventionsClient struct {
	verbs.Methods
	client *Client
	path   string
}

func newInterventionsClient(c *Client, path string) interventionsClient {
	return interventionsClient{func(ctx context.Context, names []string, change verbs.Change) ([]string, error) {
		body := interventionRequest{Names: names, Workers: change.Workers}
		switch change.Verb {
		case verbs.Delay:
			body.Delay = change.Delay.String()
		case verbs.Fail:
			body.Fault = &change.Fault
		}
		var changed changedActors
		err := c.do(ctx, http.MethodPost, path+"/"+change.Verb, nil, body, &changed)
		return changed.Names, err
	}, c, path}
}

func (i interventionsClient) Step(ctx context.Context, name string) (stepped *control.SteppedWrite, err error) {
	err = i.client.do(ctx, http.MethodPost, i.path+"/step", nil, interventionRequest{Names: []string{name}}, &stepped)
	return stepped, err
}

func (i interventionsClient) StepHeld(ctx context.Context, name string) (stepped *control.SteppedWrite, err error) {
	params := url.Values{heldParameter: {"true"}}
	err = i.client.do(ctx, http.MethodPost, i.path+"/step", params, interventionRequest{Names: []string{name}}, &stepped)
	return stepped, err
}

func (i interventionsClient) HeldWrites(ctx context.Context, name string, limit int) (list control.HeldWriteList, err error) {
	params := url.Values{"name": {name}, "limit": {strconv.Itoa(limit)}}
	err = i.client.do(ctx, http.MethodGet, i.path+"/held", params, nil, &list)
	return list, err
}
