// Package control is the running process's own API: what the process knows of
// itself, served behind the API server's authentication and authorization. Its
// client half needs no server code.
package control

import (
	"encoding/json"
	"net/http"
)

// Path is below what the API is served; ControllersPath lists the controllers.
const (
	Path            = "/ctrlplane"
	ControllersPath = Path + "/v1/controllers"
)

// Controller is one controller as the process sees it.
type Controller struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	// State is off, building, running, stopping or failed.
	State string `json:"state"`
	// Reason says why it is off or has failed.
	Reason string `json:"reason,omitempty"`
}

// ControllerList is what ControllersPath answers with.
type ControllerList struct {
	Items []Controller `json:"items"`
}

// Handler serves the API below Path; list is called for each request.
func Handler(list func() []Controller) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+ControllersPath, func(w http.ResponseWriter, _ *http.Request) {
		data, err := json.Marshal(ControllerList{Items: list()})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		// An error here is the client's going away: there is nobody to tell.
		_, _ = w.Write(data)
	})
	return mux
}
