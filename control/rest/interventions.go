package rest

import (
	"context"
	"encoding/json"
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

const (
	// defaultHeldLimit is the number of held writes that are listed if a request does not say.
	defaultHeldLimit = 100
	// maxInterventionSize is the size of the longest body that is read.
	maxInterventionSize = 1 << 20
)

// handleInterventions serves interventions below a path.
func handleInterventions(mux *http.ServeMux, path string, i control.Interventions) {
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
	for verb, do := range verbs {
		mux.HandleFunc("POST "+path+"/"+verb, func(w http.ResponseWriter, req *http.Request) {
			body, err := readIntervention(w, req)
			if err != nil {
				writeAnswer(w, nil, err)
				return
			}
			names, err := do(req.Context(), body)
			writeAnswer(w, changedActors{names}, err)
		})
	}
	mux.HandleFunc("POST "+path+"/step", func(w http.ResponseWriter, req *http.Request) {
		body, err := readIntervention(w, req)
		if err == nil && len(body.Names) != 1 {
			err = usage.Errorf("step: name one, got %q", body.Names)
		}
		if err != nil {
			writeAnswer(w, nil, err)
			return
		}
		stepped, err := i.Step(req.Context(), body.Names[0])
		writeAnswer(w, stepped, err)
	})
	mux.HandleFunc("GET "+path+"/held", func(w http.ResponseWriter, req *http.Request) {
		params := req.URL.Query()
		limit := defaultHeldLimit
		if text := params.Get("limit"); text != "" {
			var err error
			if limit, err = strconv.Atoi(text); err != nil || limit < 0 {
				writeAnswer(w, nil, usage.Errorf("parameter limit: %q is not a number of writes", text))
				return
			}
		}
		list, err := i.HeldWrites(req.Context(), params.Get("name"), limit)
		writeAnswer(w, list, err)
	})
}

func readIntervention(w http.ResponseWriter, req *http.Request) (body intervention, err error) {
	err = decodeBody(w, req, &body)
	return body, err
}

func decodeBody(w http.ResponseWriter, req *http.Request, body any) error {
	decoder := json.NewDecoder(http.MaxBytesReader(w, req.Body, maxInterventionSize))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(body); err != nil {
		return usage.Errorf("request body: %w", err)
	}
	return nil
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

func (i interventionsClient) HeldWrites(ctx context.Context, name string, limit int) (list control.HeldWriteList, err error) {
	params := url.Values{"name": {name}, "limit": {strconv.Itoa(limit)}}
	err = i.client.do(ctx, http.MethodGet, i.path+"/held", params, nil, &list)
	return list, err
}
