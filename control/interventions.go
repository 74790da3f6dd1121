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

// AllControllers stands for every controller where a verb takes their names.
const AllControllers = "*"

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

// HeldWrite is a write that waits for its controller to be resumed or stepped.
type HeldWrite struct {
	Verb        string         `json:"verb"`
	Object      observe.Object `json:"object"` // the name of one to be created may be a prefix
	Subresource string         `json:"subresource,omitempty"`
	Since       time.Time      `json:"since"`
	// Body is the object or the patch that is to be written, if it is not long.
	Body json.RawMessage `json:"body,omitempty"`
}

// HeldWriteList is what a GET of NAMES/held answers with: the oldest first.
type HeldWriteList struct {
	Controller string      `json:"controller"`
	Paused     bool        `json:"paused"`
	Items      []HeldWrite `json:"items"`
	Total      int         `json:"total"` // Items may hold less
}

// SteppedWrite is a held write that was let through, and what came of it.
type SteppedWrite struct {
	HeldWrite
	Status int    `json:"status"` // HTTP; 0 if there was no answer
	Error  string `json:"error,omitempty"`
	// Before and After are the object that a write has changed, right before and
	// after that, without its managed fields and a Secret's values; nil where there
	// was none.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	// UnknownReason says why neither is known of a write that has succeeded.
	UnknownReason string `json:"unseen,omitempty"`
}

// ControllerNames is what a verb answers with: the controllers that it was for.
type ControllerNames struct {
	Names []string `json:"names"`
}

// Interventions are a hand on the controllers that run. Which ones is said by names or
// aliases with commas between them, or All; either all are known or nothing is
// done. Doing twice what is done already is no error. An error in what was
// asked for is a usage error.
type Interventions interface {
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
	Step(ctx context.Context, name string) (*SteppedWrite, error)
	// Delay makes each call wait; Fail makes calls fail; Restore takes both back.
	Delay(ctx context.Context, names string, d time.Duration) ([]string, error)
	Fail(ctx context.Context, names string, f Fault) ([]string, error)
	Clear(ctx context.Context, names string) ([]string, error)
	// Scale builds and runs controllers anew with so many workers, where upstream
	// has a flag for that; a hand on them stays. It lasts as long as the process.
	Scale(ctx context.Context, names string, workers int) ([]string, error)
	// HeldWrites lists what one controller has held, at most limit of it.
	HeldWrites(ctx context.Context, name string, limit int) (HeldWriteList, error)
}

// StepTimeout is how long a Step waits for a write.
const StepTimeout = 20 * time.Second

// defaultHeldLimit is how many held writes are listed unless a request says.
const defaultHeldLimit = 100

func handleInterventions(mux *http.ServeMux, gates Interventions) {
	named := func(verb string, do func(*http.Request, string) ([]string, error)) {
		mux.HandleFunc("POST "+ControllersPath+"/{name}/"+verb, func(w http.ResponseWriter, req *http.Request) {
			names, err := do(req, req.PathValue("name"))
			writeAnswer(w, ControllerNames{names}, err)
		})
	}
	for verb, do := range map[string]func(context.Context, string) ([]string, error){
		"stop": gates.Stop, "start": gates.Start, "pause": gates.Pause, "resume": gates.Resume, "restore": gates.Clear,
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
		writeAnswer(w, stepped, err)
	})
	mux.HandleFunc("GET "+ControllersPath+"/{name}/held", func(w http.ResponseWriter, req *http.Request) {
		limit := defaultHeldLimit
		if text := req.URL.Query().Get("limit"); text != "" {
			var err error
			if limit, err = strconv.Atoi(text); err != nil || limit < 0 {
				writeAnswer(w, nil, usage.Errorf("parameter limit: %q is not a number of writes", text))
				return
			}
		}
		list, err := gates.HeldWrites(req.Context(), req.PathValue("name"), limit)
		writeAnswer(w, list, err)
	})
}

// Interventions is the hand on the controllers of the control plane that the client asks.
func (c *Client) Interventions() Interventions { return interventionsClient{c} }

type interventionsClient struct{ client *Client }

func (g interventionsClient) post(ctx context.Context, names, verb string, params url.Values) ([]string, error) {
	var done ControllerNames
	err := g.client.do(ctx, http.MethodPost, ControllersPath+"/"+names+"/"+verb, params, &done)
	return done.Names, err
}

func (g interventionsClient) Stop(ctx context.Context, names string) ([]string, error) {
	return g.post(ctx, names, "stop", nil)
}

func (g interventionsClient) Start(ctx context.Context, names string) ([]string, error) {
	return g.post(ctx, names, "start", nil)
}

func (g interventionsClient) Pause(ctx context.Context, names string) ([]string, error) {
	return g.post(ctx, names, "pause", nil)
}

func (g interventionsClient) Resume(ctx context.Context, names string) ([]string, error) {
	return g.post(ctx, names, "resume", nil)
}

func (g interventionsClient) Clear(ctx context.Context, names string) ([]string, error) {
	return g.post(ctx, names, "restore", nil)
}

func (g interventionsClient) Delay(ctx context.Context, names string, d time.Duration) ([]string, error) {
	return g.post(ctx, names, "delay", url.Values{"duration": {d.String()}})
}

func (g interventionsClient) Fail(ctx context.Context, names string, f Fault) ([]string, error) {
	params := url.Values{"rate": {strconv.FormatFloat(f.Rate, 'g', -1, 64)}, "code": {f.Code}}
	if f.Verb != "" {
		params.Set("verb", f.Verb)
	}
	if f.Resource != "" {
		params.Set("resource", f.Resource)
	}
	return g.post(ctx, names, "fail", params)
}

func (g interventionsClient) Scale(ctx context.Context, names string, workers int) ([]string, error) {
	return g.post(ctx, names, "scale", url.Values{"workers": {strconv.Itoa(workers)}})
}

func (g interventionsClient) Step(ctx context.Context, name string) (stepped *SteppedWrite, err error) {
	err = g.client.do(ctx, http.MethodPost, ControllersPath+"/"+name+"/step", nil, &stepped)
	return stepped, err
}

func (g interventionsClient) HeldWrites(ctx context.Context, name string, limit int) (list HeldWriteList, err error) {
	err = g.client.do(ctx, http.MethodGet, ControllersPath+"/"+name+"/held", url.Values{"limit": {strconv.Itoa(limit)}}, &list)
	return list, err
}
