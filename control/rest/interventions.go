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

// intervention is the body of a POST to ControllersPath/VERB or ClientsPath/VERB.
type intervention struct {
	Names   []string       `json:"names"`             // of the controllers or clients
	Delay   string         `json:"delay,omitempty"`   // as time.ParseDuration reads it
	Fault   *control.Fault `json:"fault,omitempty"`   // for fail
	Workers int            `json:"workers,omitempty"` // for scale
}

// changedActors are the controllers or clients that a verb has changed.
type changedActors struct {
	Names []string `json:"names"`
}

// heldParameter is the parameter of a step that does not wait for a write. Earlier versions ignore it.
const heldParameter = "held"

// defaultHeldLimit is the number of held writes that are listed if a request does not say.
const defaultHeldLimit = 100

// handleInterventions serves interventions below a path.
func handleInterventions(mux *http.ServeMux, path string, i control.Interventions) {
	for verb, do := range interventionVerbs(i) {
		handleBody(mux, "POST "+path+"/"+verb, func(req *http.Request, body intervention) (any, error) {
			names, err := do(req.Context(), body)
			return changedActors{names}, err
		})
	}
	handleBody(mux, "POST "+path+"/step", func(req *http.Request, body intervention) (any, error) {
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

// interventionVerbs are the verbs that change controllers or clients, and return the names of
// those.
func interventionVerbs(i control.Interventions) map[string]func(context.Context, intervention) ([]string, error) {
	verbs := map[string]func(context.Context, intervention) ([]string, error){
		"delay": func(ctx context.Context, body intervention) ([]string, error) {
			d, err := time.ParseDuration(body.Delay)
			if err != nil {
				return nil, usage.Errorf("delay: %w", err)
			}
			return i.Delay(ctx, body.Names, d)
		},
		"fail": func(ctx context.Context, body intervention) ([]string, error) {
			if body.Fault == nil {
				return nil, usage.Errorf("fail: no fault is given")
			}
			return i.Fail(ctx, body.Names, *body.Fault)
		},
		"scale": func(ctx context.Context, body intervention) ([]string, error) {
			return i.Scale(ctx, body.Names, body.Workers)
		},
	}
	for verb, do := range map[string]func(context.Context, []string) ([]string, error){
		"stop": i.Stop, "start": i.Start, "pause": i.Pause, "resume": i.Resume, "clear": i.Clear,
	} {
		verbs[verb] = func(ctx context.Context, body intervention) ([]string, error) { return do(ctx, body.Names) }
	}
	return verbs
}

// Interventions returns the interventions in the controllers of the control plane.
func (c *Client) Interventions() control.Interventions {
	return interventionsClient{c, ControllersPath}
}

// ClientInterventions returns the interventions in the clients of the control plane.
func (c *Client) ClientInterventions() control.Interventions {
	return interventionsClient{c, ClientsPath}
}

type interventionsClient struct {
	client *Client
	path   string
}

func (i interventionsClient) post(ctx context.Context, verb string, body intervention) ([]string, error) {
	var changed changedActors
	err := i.client.do(ctx, http.MethodPost, i.path+"/"+verb, nil, body, &changed)
	return changed.Names, err
}

func (i interventionsClient) Stop(ctx context.Context, names []string) ([]string, error) {
	return i.post(ctx, "stop", intervention{Names: names})
}

func (i interventionsClient) Start(ctx context.Context, names []string) ([]string, error) {
	return i.post(ctx, "start", intervention{Names: names})
}

func (i interventionsClient) Pause(ctx context.Context, names []string) ([]string, error) {
	return i.post(ctx, "pause", intervention{Names: names})
}

func (i interventionsClient) Resume(ctx context.Context, names []string) ([]string, error) {
	return i.post(ctx, "resume", intervention{Names: names})
}

func (i interventionsClient) Delay(ctx context.Context, names []string, d time.Duration) ([]string, error) {
	return i.post(ctx, "delay", intervention{Names: names, Delay: d.String()})
}

func (i interventionsClient) Fail(ctx context.Context, names []string, f control.Fault) ([]string, error) {
	return i.post(ctx, "fail", intervention{Names: names, Fault: &f})
}

func (i interventionsClient) Clear(ctx context.Context, names []string) ([]string, error) {
	return i.post(ctx, "clear", intervention{Names: names})
}

func (i interventionsClient) Scale(ctx context.Context, names []string, workers int) ([]string, error) {
	return i.post(ctx, "scale", intervention{Names: names, Workers: workers})
}

func (i interventionsClient) Step(ctx context.Context, name string) (stepped *control.SteppedWrite, err error) {
	err = i.client.do(ctx, http.MethodPost, i.path+"/step", nil, intervention{Names: []string{name}}, &stepped)
	return stepped, err
}

func (i interventionsClient) StepHeld(ctx context.Context, name string) (stepped *control.SteppedWrite, err error) {
	params := url.Values{heldParameter: {"true"}}
	err = i.client.do(ctx, http.MethodPost, i.path+"/step", params, intervention{Names: []string{name}}, &stepped)
	return stepped, err
}

func (i interventionsClient) HeldWrites(ctx context.Context, name string, limit int) (list control.HeldWriteList, err error) {
	params := url.Values{"name": {name}, "limit": {strconv.Itoa(limit)}}
	err = i.client.do(ctx, http.MethodGet, i.path+"/held", params, nil, &list)
	return list, err
}
