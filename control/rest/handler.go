package rest

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
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
	Started       time.Time // when the control plane was started
}

// Handler serves the API below Path. It needs LimitBodies where clients are not trusted.
func Handler(s Services) http.Handler {
	mux := http.NewServeMux()
	handleNodes(mux, s.Nodes)
	s.handleChanges(mux)
	handleSnapshots(mux, s.Snapshots)
	handle(mux, "GET "+FlagsPath, func(*http.Request) (any, error) {
		list, err := s.Flags()
		return control.FlagList{Items: orEmpty(list)}, err
	})
	handle(mux, "GET "+UnhealthyPath, func(req *http.Request) (any, error) {
		list, err := s.Unhealthy(req.Context())
		return control.UnhealthyList{Items: orEmpty(list)}, err
	})
	handle(mux, "GET "+PermissionsPath, func(req *http.Request) (any, error) {
		list, err := s.Permissions(req.URL.Query().Get(nameParameter))
		list.Items = orEmpty(list.Items)
		return list, err
	}, nameParameter)
	handle(mux, "GET "+ControllersPath, func(req *http.Request) (any, error) {
		list, err := s.listControllers(req.Context())
		return control.ControllerList{Items: orEmpty(list)}, err
	})
	handle(mux, "GET "+ClientsPath, func(req *http.Request) (any, error) {
		snapshot, err := s.Source.Snapshot(req.Context())
		return control.ClientList{Items: orEmpty(snapshot.Clients)}, err
	})
	handle(mux, "GET "+SnapshotPath, func(req *http.Request) (any, error) {
		return observe.SnapshotWithKeys(req.Context(), s.Source, req.URL.Query()[failingParameter]...)
	}, failingParameter)
	s.handleSettled(mux)
	s.handleCauses(mux)
	handle(mux, "GET "+RecordsPath, s.listRecords, queryParameters...)
	return withStatus(mux)
}

// InterventionsHandler serves the interventions and the speed at the paths that Handler
// uses, but nothing else. Of the services it uses Source, Interventions, Clients and Speed; of the last three, one that is nil is
// not served.
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
	if s.Interventions != nil {
		handle(mux, "DELETE "+InterventionsPath, func(req *http.Request) (any, error) { return s.endInterventions(req.Context()) })
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

// handle serves at a pattern what answer returns. Requests have no body, and these parameters.
func handle(mux *http.ServeMux, pattern string, answer func(*http.Request) (any, error), parameters ...string) {
	handleChecked(mux, pattern, parameters, func(w http.ResponseWriter, req *http.Request) (any, error) {
		if err := checkNoBody(w, req, parameters); err != nil {
			return nil, err
		}
		return answer(req)
	})
}

// handleBody is like handle for requests with a body in JSON, which may not have unknown fields.
func handleBody[T any](mux *http.ServeMux, pattern string, answer func(*http.Request, T) (any, error), parameters ...string) {
	handleChecked(mux, pattern, parameters, func(w http.ResponseWriter, req *http.Request) (any, error) {
		var body T
		if err := decodeBody(w, req, &body); err != nil {
			return nil, err
		}
		return answer(req, body)
	})
}

// handleChecked serves at a pattern what answer returns in time for requests that have these parameters only.
func handleChecked(mux *http.ServeMux, pattern string, parameters []string, answer func(http.ResponseWriter, *http.Request) (any, error)) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
		v, err := answerInTime(req, pattern, parameters, func(req *http.Request) (any, error) { return answer(w, req) })
		writeAnswer(w, v, err)
	})
}

// orEmpty returns the list, which is [] in JSON if it is nil.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
