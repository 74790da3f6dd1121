package control

import (
	"context"
	"fmt"
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
	Terminated    bool      `json:"terminated"`    // its machine is gone, and it is about to be deleted
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

// Nodes are the simulated nodes. An error in what was asked for is a usage error,
// and then nothing is done.
type Nodes interface {
	List(context.Context) ([]Node, error)
	Add(ctx context.Context, n int) (names []string, err error)
	Remove(ctx context.Context, names ...string) error
	Fail(ctx context.Context, names ...string) error
	Recover(ctx context.Context, names ...string) error
	Terminate(ctx context.Context, names ...string) error
}

func handleNodes(mux *http.ServeMux, nodes Nodes) {
	mux.HandleFunc("GET "+NodesPath, func(w http.ResponseWriter, req *http.Request) {
		list, err := nodes.List(req.Context())
		writeAnswer(w, NodeList{list}, err)
	})
	mux.HandleFunc("POST "+NodesPath, func(w http.ResponseWriter, req *http.Request) {
		n, err := strconv.Atoi(req.URL.Query().Get("count"))
		if err != nil {
			writeAnswer(w, nil, usage.Errorf("parameter count: %w", err))
			return
		}
		names, err := nodes.Add(req.Context(), n)
		writeAnswer(w, NodeNames{names}, err)
	})
	mux.HandleFunc("DELETE "+NodesPath, func(w http.ResponseWriter, req *http.Request) {
		writeAnswer(w, struct{}{}, nodes.Remove(req.Context(), req.URL.Query()["name"]...))
	})
	for verb, do := range map[string]func(context.Context, ...string) error{
		"fail": nodes.Fail, "recover": nodes.Recover, "terminate": nodes.Terminate,
	} {
		mux.HandleFunc("POST "+NodesPath+"/"+verb, func(w http.ResponseWriter, req *http.Request) {
			writeAnswer(w, struct{}{}, do(req.Context(), req.URL.Query()["name"]...))
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

// maxAddPerRequest is how many nodes one request adds at most: the API server gives
// each a minute.
const maxAddPerRequest = 100

// Add implements Nodes.
func (c *Client) Add(ctx context.Context, n int) ([]string, error) {
	var names []string
	for {
		var added NodeNames
		err := c.do(ctx, http.MethodPost, NodesPath, url.Values{"count": {strconv.Itoa(min(n-len(names), maxAddPerRequest))}}, &added)
		if err != nil {
			return nil, c.removeAdded(ctx, names, err)
		}
		if names = append(names, added.Names...); len(names) >= n {
			return names, nil
		}
	}
}

// removeAdded removes nodes that were added before the next could not be.
func (c *Client) removeAdded(ctx context.Context, names []string, why error) error {
	if len(names) == 0 {
		return why
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err := c.Remove(ctx, names...); err != nil {
		return fmt.Errorf("%w; and %d nodes that were added before are left: %w", why, len(names), err)
	}
	return why
}

// Remove implements Nodes.
func (c *Client) Remove(ctx context.Context, names ...string) error {
	return c.do(ctx, http.MethodDelete, NodesPath, url.Values{"name": names}, &struct{}{})
}

// Fail implements Nodes.
func (c *Client) Fail(ctx context.Context, names ...string) error {
	return c.postNodes(ctx, "fail", names)
}

// Recover implements Nodes.
func (c *Client) Recover(ctx context.Context, names ...string) error {
	return c.postNodes(ctx, "recover", names)
}

// Terminate implements Nodes.
func (c *Client) Terminate(ctx context.Context, names ...string) error {
	return c.postNodes(ctx, "terminate", names)
}

func (c *Client) postNodes(ctx context.Context, verb string, names []string) error {
	return c.do(ctx, http.MethodPost, NodesPath+"/"+verb, url.Values{"name": names}, &struct{}{})
}
