package control

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// Node is a simulated node at a glance.
type Node struct {
	Name          string    `json:"name"`
	Ready         string    `json:"ready"`         // True, False or Unknown, as its condition says
	Failed        bool      `json:"failed"`        // its heart-beat is stopped
	Own           bool      `json:"own"`           // made by the fleet, not by hand
	Unschedulable bool      `json:"unschedulable"` // cordoned
	Zone          string    `json:"zone,omitempty"`
	CPU           string    `json:"cpu"`
	Memory        string    `json:"memory"`
	PodCIDR       string    `json:"podCIDR,omitempty"`
	Pods          int       `json:"pods"` // bound to it
	MaxPods       int64     `json:"maxPods"`
	Created       time.Time `json:"created"`
}

// NodeList is what a GET of NodesPath answers with.
type NodeList struct {
	Items []Node `json:"items"`
}

// NodeNames is what a POST to NodesPath answers with: the nodes that were added.
type NodeNames struct {
	Names []string `json:"names"`
}

// Nodes are the simulated nodes. An error in what was asked for is a usage error.
type Nodes interface {
	List(context.Context) ([]Node, error)
	Add(ctx context.Context, n int) (names []string, err error)
	Remove(ctx context.Context, names ...string) error
	Fail(ctx context.Context, name string) error
	Recover(ctx context.Context, name string) error
}

func handleNodes(mux *http.ServeMux, nodes Nodes) {
	mux.HandleFunc("GET "+NodesPath, func(w http.ResponseWriter, req *http.Request) {
		list, err := nodes.List(req.Context())
		answer(w, NodeList{list}, err)
	})
	mux.HandleFunc("POST "+NodesPath, func(w http.ResponseWriter, req *http.Request) {
		n, err := strconv.Atoi(req.URL.Query().Get("count"))
		if err != nil {
			answer(w, nil, usage.Errorf("parameter count: %w", err))
			return
		}
		names, err := nodes.Add(req.Context(), n)
		answer(w, NodeNames{names}, err)
	})
	mux.HandleFunc("DELETE "+NodesPath, func(w http.ResponseWriter, req *http.Request) {
		answer(w, struct{}{}, nodes.Remove(req.Context(), req.URL.Query()["name"]...))
	})
	for verb, do := range map[string]func(context.Context, string) error{"fail": nodes.Fail, "recover": nodes.Recover} {
		mux.HandleFunc("POST "+NodesPath+"/{name}/"+verb, func(w http.ResponseWriter, req *http.Request) {
			answer(w, struct{}{}, do(req.Context(), req.PathValue("name")))
		})
	}
}

var _ Nodes = (*Client)(nil)

// List implements Nodes.
func (c *Client) List(ctx context.Context) ([]Node, error) {
	var list NodeList
	err := c.do(ctx, http.MethodGet, NodesPath, nil, &list)
	return list.Items, err
}

// Add implements Nodes.
func (c *Client) Add(ctx context.Context, n int) ([]string, error) {
	var added NodeNames
	err := c.do(ctx, http.MethodPost, NodesPath, url.Values{"count": {strconv.Itoa(n)}}, &added)
	return added.Names, err
}

// Remove implements Nodes.
func (c *Client) Remove(ctx context.Context, names ...string) error {
	return c.do(ctx, http.MethodDelete, NodesPath, url.Values{"name": names}, &struct{}{})
}

// Fail implements Nodes.
func (c *Client) Fail(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodPost, NodesPath+"/"+name+"/fail", nil, &struct{}{})
}

// Recover implements Nodes.
func (c *Client) Recover(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodPost, NodesPath+"/"+name+"/recover", nil, &struct{}{})
}
