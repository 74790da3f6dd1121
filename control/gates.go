package control

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// All stands for every controller where a verb takes their names.
const All = "*"

// Fault says which calls of a controller fail, and how.
type Fault struct {
	Rate     float64 `json:"rate"`               // of those that are meant: 0 to 1
	Code     string  `json:"code"`               // one of FaultCodes
	Verb     string  `json:"verb,omitempty"`     // as in RBAC; empty = all
	Resource string  `json:"resource,omitempty"` // RESOURCE or RESOURCE.GROUP; empty = all
}

// FaultCodes are the ways in which a call can be made to fail: with a conflict,
// which only writes meet, an internal error, or a server-side timeout.
var FaultCodes = []string{"409", "500", "timeout"}

// Held is a write that waits for its controller to be resumed or stepped.
type Held struct {
	Verb        string         `json:"verb"`
	Object      observe.Object `json:"object"` // the name of one to be created may be a prefix
	Subresource string         `json:"subresource,omitempty"`
	Since       time.Time      `json:"since"`
	// Body is the object or the patch that is to be written, if it is not long.
	Body json.RawMessage `json:"body,omitempty"`
}

// HeldList is what a GET of NAMES/held answers with: the oldest first.
type HeldList struct {
	Controller string `json:"controller"`
	Paused     bool   `json:"paused"`
	Items      []Held `json:"items"`
	Total      int    `json:"total"` // Items may hold less
}

// Stepped is a held write that was let through, and what came of it.
type Stepped struct {
	Held
	Status int    `json:"status"` // HTTP; 0 if there was no answer
	Error  string `json:"error,omitempty"`
	// Before and After are the object that a write has changed, right before and
	// after that, without its managed fields and a Secret's values; nil where there
	// was none.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	// Unseen says why neither is known of a write that has succeeded.
	Unseen string `json:"unseen,omitempty"`
}

// ControllerNames is what a verb answers with: the controllers that it was for.
type ControllerNames struct {
	Names []string `json:"names"`
}

// Gates are a hand on the controllers that run. Which ones is said by names or
// aliases with commas between them, or All; either all are known or nothing is
// done. Doing twice what is done already is no error. An error in what was
// asked for is a usage error.
type Gates interface {
	// Stop ends controllers, and refuses what they have held; Start builds and
	// runs them again.
	Stop(ctx context.Context, names string) ([]string, error)
	Start(ctx context.Context, names string) ([]string, error)
	// Pause holds the writes of controllers, but for those to leases. It returns
	// when none is on its way any more. Resume lets them go.
	Pause(ctx context.Context, names string) ([]string, error)
	Resume(ctx context.Context, names string) ([]string, error)
	// Step lets the next write of one paused controller through and returns when
	// it has been answered; nil if none comes within StepWait.
	Step(ctx context.Context, name string) (*Stepped, error)
	// Delay makes each call wait; Fail makes calls fail; Restore takes both back.
	Delay(ctx context.Context, names string, d time.Duration) ([]string, error)
	Fail(ctx context.Context, names string, f Fault) ([]string, error)
	Restore(ctx context.Context, names string) ([]string, error)
	// Scale builds and runs controllers anew with so many workers, where upstream
	// has a flag for that; a hand on them stays. It lasts as long as the process.
	Scale(ctx context.Context, names string, workers int) ([]string, error)
	// Held lists what one controller has held, at most limit of it.
	Held(ctx context.Context, name string, limit int) (HeldList, error)
}

// StepWait is how long a Step waits for a write.
const StepWait = 20 * time.Second

// heldLimit is how many held writes are listed unless a request says.
const heldLimit = 100

func handleGates(mux *http.ServeMux, gates Gates) {
	named := func(verb string, do func(*http.Request, string) ([]string, error)) {
		mux.HandleFunc("POST "+ControllersPath+"/{name}/"+verb, func(w http.ResponseWriter, req *http.Request) {
			names, err := do(req, req.PathValue("name"))
			answer(w, ControllerNames{names}, err)
		})
	}
	for verb, do := range map[string]func(context.Context, string) ([]string, error){
		"stop": gates.Stop, "start": gates.Start, "pause": gates.Pause, "resume": gates.Resume, "restore": gates.Restore,
	} {
		named(verb, func(req *http.Request, names string) ([]string, error) { return do(req.Context(), names) })
	}
	named("delay", func(req *http.Request, names string) ([]string, error) {
		d, err := time.ParseDuration(req.URL.Query().Get("duration"))
		if err != nil {
			return nil, usage.Errorf("parameter duration: %w", err)
		}
		return gates.Delay(req.Context(), names, d)
	})
	named("fail", func(req *http.Request, names string) ([]string, error) {
		q := req.URL.Query()
		rate, err := strconv.ParseFloat(q.Get("rate"), 64)
		if err != nil {
			return nil, usage.Errorf("parameter rate: %w", err)
		}
		return gates.Fail(req.Context(), names, Fault{Rate: rate, Code: q.Get("code"), Verb: q.Get("verb"), Resource: q.Get("resource")})
	})
	named("scale", func(req *http.Request, names string) ([]string, error) {
		workers, err := strconv.Atoi(req.URL.Query().Get("workers"))
		if err != nil {
			return nil, usage.Errorf("parameter workers: %w", err)
		}
		return gates.Scale(req.Context(), names, workers)
	})
	mux.HandleFunc("POST "+ControllersPath+"/{name}/step", func(w http.ResponseWriter, req *http.Request) {
		stepped, err := gates.Step(req.Context(), req.PathValue("name"))
		answer(w, stepped, err)
	})
	mux.HandleFunc("GET "+ControllersPath+"/{name}/held", func(w http.ResponseWriter, req *http.Request) {
		limit := heldLimit
		if text := req.URL.Query().Get("limit"); text != "" {
			var err error
			if limit, err = strconv.Atoi(text); err != nil || limit < 0 {
				answer(w, nil, usage.Errorf("parameter limit: %q is not a number of writes", text))
				return
			}
		}
		list, err := gates.Held(req.Context(), req.PathValue("name"), limit)
		answer(w, list, err)
	})
}

// Gates is the hand on the controllers of the control plane that the client asks.
func (c *Client) Gates() Gates { return gates{c} }

type gates struct{ client *Client }

func (g gates) do(ctx context.Context, names, verb string, params url.Values) ([]string, error) {
	var done ControllerNames
	err := g.client.do(ctx, http.MethodPost, ControllersPath+"/"+names+"/"+verb, params, &done)
	return done.Names, err
}

func (g gates) Stop(ctx context.Context, names string) ([]string, error) {
	return g.do(ctx, names, "stop", nil)
}

func (g gates) Start(ctx context.Context, names string) ([]string, error) {
	return g.do(ctx, names, "start", nil)
}

func (g gates) Pause(ctx context.Context, names string) ([]string, error) {
	return g.do(ctx, names, "pause", nil)
}

func (g gates) Resume(ctx context.Context, names string) ([]string, error) {
	return g.do(ctx, names, "resume", nil)
}

func (g gates) Restore(ctx context.Context, names string) ([]string, error) {
	return g.do(ctx, names, "restore", nil)
}

func (g gates) Delay(ctx context.Context, names string, d time.Duration) ([]string, error) {
	return g.do(ctx, names, "delay", url.Values{"duration": {d.String()}})
}

func (g gates) Fail(ctx context.Context, names string, f Fault) ([]string, error) {
	params := url.Values{"rate": {strconv.FormatFloat(f.Rate, 'g', -1, 64)}, "code": {f.Code}}
	if f.Verb != "" {
		params.Set("verb", f.Verb)
	}
	if f.Resource != "" {
		params.Set("resource", f.Resource)
	}
	return g.do(ctx, names, "fail", params)
}

func (g gates) Scale(ctx context.Context, names string, workers int) ([]string, error) {
	return g.do(ctx, names, "scale", url.Values{"workers": {strconv.Itoa(workers)}})
}

func (g gates) Step(ctx context.Context, name string) (stepped *Stepped, err error) {
	err = g.client.do(ctx, http.MethodPost, ControllersPath+"/"+name+"/step", nil, &stepped)
	return stepped, err
}

func (g gates) Held(ctx context.Context, name string, limit int) (list HeldList, err error) {
	err = g.client.do(ctx, http.MethodGet, ControllersPath+"/"+name+"/held", url.Values{"limit": {strconv.Itoa(limit)}}, &list)
	return list, err
}
