// Package control is the running process's own API: what the process knows of
// itself, served behind the API server's authentication and authorization. Its
// client half needs no server code.
package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Path is below what the API is served.
const Path = "/ctrlplane"

// What is served: the controllers, all that is known now, what happened, and the
// simulated nodes.
const (
	ControllersPath = Path + "/v1/controllers"
	SnapshotPath    = Path + "/v1/snapshot"
	RecordsPath     = Path + "/v1/records"
	NodesPath       = Path + "/v1/nodes"
)

// Services is what the API serves.
type Services struct {
	Controllers   func() []Controller
	Source        observe.Source // nil = nothing is known of what controllers do
	Nodes         Nodes
	Interventions Interventions // nil = nobody can lay a hand on the controllers
	Snapshots     Snapshots     // nil = the state cannot be saved or restored
	// Flags are those of kube-controller-manager; nil = they are not known.
	Flags func() ([]Flag, error)
}

// Handler serves the API below Path.
func Handler(p Services) http.Handler {
	mux := http.NewServeMux()
	handleNodes(mux, p.Nodes)
	if p.Interventions != nil {
		handleInterventions(mux, p.Interventions)
	}
	if p.Snapshots != nil {
		handleSnapshots(mux, p.Snapshots)
	}
	if p.Flags != nil {
		handleFlags(mux, p.Flags)
	}
	mux.HandleFunc("GET "+ControllersPath, func(w http.ResponseWriter, req *http.Request) {
		list, err := p.listControllers(req.Context())
		writeAnswer(w, ControllerList{Items: list}, err)
	})
	mux.HandleFunc("GET "+SnapshotPath, func(w http.ResponseWriter, req *http.Request) {
		s, err := p.Source.Snapshot(req.Context())
		writeAnswer(w, s, err)
	})
	mux.HandleFunc("GET "+RecordsPath, func(w http.ResponseWriter, req *http.Request) {
		q, err := decodeQuery(req.URL.Query())
		if err != nil {
			writeAnswer(w, nil, usage.Errorf("%w", err))
			return
		}
		page, err := p.Source.Records(req.Context(), q)
		writeAnswer(w, page, err)
	})
	return mux
}

// writeAnswer writes v, or the error as the API server writes its own, so that its
// clients can read it.
func writeAnswer(w http.ResponseWriter, v any, err error) {
	code := http.StatusOK
	if err != nil {
		code = http.StatusInternalServerError
		if errors.As(err, new(usage.Error)) {
			code = http.StatusBadRequest
		}
		v = metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
			Status:   metav1.StatusFailure,
			Message:  err.Error(),
			Code:     int32(code),
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// An error here is the client's going away: there is nobody to tell.
	_, _ = w.Write(data)
}

// encodeQuery is q as URL parameters.
func encodeQuery(q observe.Query) url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" && value != "0" && value != "false" {
			v.Set(name, value)
		}
	}
	set("after", strconv.FormatUint(q.After, 10))
	set("controller", q.Controller)
	set("sync", strconv.FormatUint(q.Sync, 10))
	set("notable", strconv.FormatBool(q.Notable))
	set("reads", strconv.FormatBool(q.Reads))
	set("limit", strconv.Itoa(q.Limit))
	for _, k := range q.Kinds {
		v.Add("kind", string(k))
	}
	if o := q.Object; o != nil {
		set("group", o.Group)
		set("resource", o.Resource)
		set("namespace", o.Namespace)
		set("name", o.Name)
		set("uid", o.UID)
	}
	return v
}

// decodeQuery is the reverse of writeQuery. Parameters that it does not know are errors.
func decodeQuery(v url.Values) (q observe.Query, err error) {
	var o observe.Object
	for name, values := range v {
		value := values[len(values)-1]
		switch name {
		case "after":
			q.After, err = strconv.ParseUint(value, 10, 64)
		case "sync":
			q.Sync, err = strconv.ParseUint(value, 10, 64)
		case "notable":
			q.Notable, err = strconv.ParseBool(value)
		case "reads":
			q.Reads, err = strconv.ParseBool(value)
		case "limit":
			q.Limit, err = strconv.Atoi(value)
		case "controller":
			q.Controller = value
		case "kind":
			q.Kinds, err = decodeKinds(values)
		case "group":
			o.Group = value
		case "resource":
			o.Resource = value
		case "namespace":
			o.Namespace = value
		case "name":
			o.Name = value
		case "uid":
			o.UID = value
		default:
			err = fmt.Errorf("no such parameter")
		}
		if err != nil {
			return q, fmt.Errorf("parameter %s: %w", name, err)
		}
	}
	if o != (observe.Object{}) {
		q.Object = &o
	}
	return q, nil
}

func decodeKinds(values []string) (kinds []observe.Kind, err error) {
	for _, value := range values {
		k := observe.Kind(value)
		if !slices.Contains(observe.Kinds, k) {
			return nil, fmt.Errorf("%q is not one of %v", value, observe.Kinds)
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}
