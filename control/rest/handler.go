package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Services are what the API serves. Handler requires all of them.
type Services struct {
	Controllers   func() []control.Controller // without their work
	Source        observe.Source
	Nodes         control.Nodes
	Interventions control.Intervener
	Clients       control.Intervener // in clients
	Speed         control.SpeedControl
	Snapshots     control.Snapshots
	Flags         func() ([]control.Flag, error)
	Unhealthy     func(context.Context) ([]control.UnhealthyObject, error)
	Permissions   func(client string) (control.PermissionList, error)
}

// Handler serves the API below Path.
func Handler(s Services) http.Handler {
	mux := http.NewServeMux()
	handleNodes(mux, s.Nodes)
	s.handleChanges(mux)
	handleSnapshots(mux, s.Snapshots)
	handle(mux, "GET "+FlagsPath, func(*http.Request) (any, error) {
		list, err := s.Flags()
		return control.FlagList{Items: list}, err
	})
	handle(mux, "GET "+UnhealthyPath, func(req *http.Request) (any, error) {
		list, err := s.Unhealthy(req.Context())
		return control.UnhealthyList{Items: list}, err
	})
	handle(mux, "GET "+PermissionsPath, func(req *http.Request) (any, error) {
		return s.Permissions(req.URL.Query().Get("name"))
	})
	handle(mux, "GET "+ControllersPath, func(req *http.Request) (any, error) {
		list, err := s.listControllers(req.Context())
		return control.ControllerList{Items: list}, err
	})
	handle(mux, "GET "+ClientsPath, func(req *http.Request) (any, error) {
		snapshot, err := s.Source.Snapshot(req.Context())
		return control.ClientList{Items: snapshot.Clients}, err
	})
	handle(mux, "GET "+SnapshotPath, func(req *http.Request) (any, error) {
		return observe.SnapshotWithKeys(req.Context(), s.Source, req.URL.Query()[failingParameter]...)
	})
	handle(mux, "GET "+RecordsPath, func(req *http.Request) (any, error) {
		q, err := decodeQuery(req.URL.Query())
		if err != nil {
			return nil, usage.Errorf("%w", err)
		}
		page, err := s.Source.Records(req.Context(), q)
		if page.Records == nil {
			page.Records = []observe.Record{} // a list in JSON, too
		}
		return page, err
	})
	return withStatus(mux)
}

// InterventionsHandler serves the interventions and the speed at the paths that Handler
// uses, but nothing else. Of the services it uses Interventions, Clients and Speed; one that is nil is not served.
func InterventionsHandler(s Services) http.Handler {
	mux := http.NewServeMux()
	s.handleChanges(mux)
	return withStatus(mux)
}

// handleChanges serves what changes the behavior of controllers and clients.
func (s Services) handleChanges(mux *http.ServeMux) {
	if s.Interventions != nil {
		handleInterventions(mux, ControllersPath, s.Interventions)
	}
	if s.Clients != nil {
		handleInterventions(mux, ClientsPath, s.Clients)
	}
	if s.Speed != nil {
		handleSpeed(mux, s.Speed)
	}
}

// listControllers returns the controllers with their work.
func (s Services) listControllers(ctx context.Context) ([]control.Controller, error) {
	list := slices.Clone(s.Controllers())
	snapshot, err := s.Source.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	work, workers := sumWork(snapshot)
	for i := range list {
		c := &list[i]
		c.Work, c.Workers = work[c.Name], workers[c.Name]
		if at := slices.IndexFunc(snapshot.Controllers, func(o observe.Controller) bool { return o.Name == c.Name }); at >= 0 {
			o := snapshot.Controllers[at]
			c.Failing, c.MoreFailing, c.Unlisted, c.Held = o.Failing, o.MoreFailing, o.Unlisted, o.Held
		} else if c.State == observe.StatePaused { // nothing is recorded
			if held, err := s.Interventions.HeldWrites(ctx, c.Name, 0); err == nil { // otherwise it was removed meanwhile
				c.Held = held.Total
			}
		}
	}
	return list, nil
}

// sumWork returns the work and the workers of each controller.
func sumWork(s observe.Snapshot) (work map[string]control.Work, workers map[string]map[string]int) {
	work, workers = map[string]control.Work{}, map[string]map[string]int{}
	for _, c := range s.Controllers {
		work[c.Name] = control.Work{Syncs: c.Syncs, Failures: c.Failures, Writes: c.Changes, Errors: c.Errors, Conflicts: c.Conflicts}
	}
	for _, q := range s.Queues {
		w := work[q.Controller]
		if !q.Parked {
			w.Depth += q.Depth
		}
		w.InFlight, w.Retries, w.ErrorRetries = w.InFlight+q.InFlight, w.Retries+q.Retries, w.ErrorRetries+q.ErrorRetries
		work[q.Controller] = w
		if q.Workers > 0 {
			if workers[q.Controller] == nil {
				workers[q.Controller] = map[string]int{}
			}
			workers[q.Controller][q.Name] = q.Workers
		}
	}
	return work, workers
}

// handle serves at a pattern what answer returns.
func handle(mux *http.ServeMux, pattern string, answer func(*http.Request) (any, error)) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
		v, err := answer(req)
		writeAnswer(w, v, err)
	})
}

// maxBodySize is the size of the longest body in JSON that is read, in bytes.
const maxBodySize = 1 << 20

// handleBody is like handle for requests with a body in JSON, which may not have unknown fields.
func handleBody[T any](mux *http.ServeMux, pattern string, answer func(*http.Request, T) (any, error)) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
		var body T
		decoder := json.NewDecoder(http.MaxBytesReader(w, req.Body, maxBodySize))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&body); err != nil {
			writeAnswer(w, nil, usage.Errorf("request body: %w", err))
			return
		}
		v, err := answer(req, body)
		writeAnswer(w, v, err)
	})
}
