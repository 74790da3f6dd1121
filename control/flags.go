package control

import (
	"context"
	"net/http"
)

// FlagsPath is where the flags of kube-controller-manager are served.
const FlagsPath = Path + "/v1/flags"

// Flag is a flag of kube-controller-manager.
type Flag struct {
	Set     string `json:"set"` // what upstream groups it under: a controller's name, or a word
	Name    string `json:"name"`
	Default string `json:"default"`
	Value   string `json:"value"` // in the process that was asked; else the default
	Usage   string `json:"usage"`
}

// FlagList is what FlagsPath answers with.
type FlagList struct {
	Items []Flag `json:"items"`
}

func handleFlags(mux *http.ServeMux, flags func() ([]Flag, error)) {
	mux.HandleFunc("GET "+FlagsPath, func(w http.ResponseWriter, _ *http.Request) {
		list, err := flags()
		writeAnswer(w, FlagList{list}, err)
	})
}

// Flags returns the flags of kube-controller-manager with their values.
func (c *Client) Flags(ctx context.Context) ([]Flag, error) {
	var list FlagList
	err := c.do(ctx, http.MethodGet, FlagsPath, nil, &list)
	return list.Items, err
}
