package rest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// nodeNames are the nodes that a POST to NodesPath has added.
type nodeNames struct {
	Names []string `json:"names"`
}

// handleNodes serves the simulated nodes. Verbs take their names as repeated query values.
func handleNodes(mux *http.ServeMux, nodes control.Nodes) {
	handle(mux, "GET "+NodesPath, func(req *http.Request) (any, error) {
		list, err := nodes.List(req.Context())
		return control.NodeList{Items: list}, err
	})
	handle(mux, "POST "+NodesPath, func(req *http.Request) (any, error) {
		n, err := strconv.Atoi(req.URL.Query().Get("count"))
		if err != nil {
			return nil, usage.Errorf("parameter count: %w", err)
		}
		names, err := nodes.Add(req.Context(), n)
		return nodeNames{names}, err
	})
	handle(mux, "DELETE "+NodesPath, func(req *http.Request) (any, error) {
		return struct{}{}, nodes.Remove(req.Context(), req.URL.Query()["name"]...)
	})
	for verb, do := range map[string]func(context.Context, ...string) error{
		"fail": nodes.Fail, "recover": nodes.Recover, "terminate": nodes.Terminate,
	} {
		handle(mux, "POST "+NodesPath+"/"+verb, func(req *http.Request) (any, error) {
			return struct{}{}, do(req.Context(), req.URL.Query()["name"]...)
		})
	}
}

// Nodes returns the simulated nodes of the control plane.
func (c *Client) Nodes() control.Nodes { return nodesClient{c} }

type nodesClient struct{ client *Client }

func (n nodesClient) List(ctx context.Context) ([]control.Node, error) {
	var list control.NodeList
	err := n.client.do(ctx, http.MethodGet, NodesPath, nil, nil, &list)
	return list.Items, err
}

// maxAddPerRequest limits the number of nodes in one request, for which the API
// server allows a minute.
const maxAddPerRequest = 100

func (n nodesClient) Add(ctx context.Context, count int) ([]string, error) {
	var names []string
	for {
		var added nodeNames
		params := url.Values{"count": {strconv.Itoa(min(count-len(names), maxAddPerRequest))}}
		if err := n.client.do(ctx, http.MethodPost, NodesPath, params, nil, &added); err != nil {
			return nil, n.removeAdded(ctx, names, err)
		}
		if names = append(names, added.Names...); len(names) >= count {
			return names, nil
		}
	}
}

// removeAdded removes the nodes that were added before a request has failed.
func (n nodesClient) removeAdded(ctx context.Context, names []string, why error) error {
	if len(names) == 0 {
		return why
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err := n.Remove(ctx, names...); err != nil {
		return fmt.Errorf("%w; the %d nodes that were added before it could not be removed: %w", why, len(names), err)
	}
	return why
}

func (n nodesClient) Remove(ctx context.Context, names ...string) error {
	return n.client.do(ctx, http.MethodDelete, NodesPath, url.Values{"name": names}, nil, &struct{}{})
}

func (n nodesClient) Fail(ctx context.Context, names ...string) error {
	return n.postNodes(ctx, "fail", names)
}

func (n nodesClient) Recover(ctx context.Context, names ...string) error {
	return n.postNodes(ctx, "recover", names)
}

func (n nodesClient) Terminate(ctx context.Context, names ...string) error {
	return n.postNodes(ctx, "terminate", names)
}

func (n nodesClient) postNodes(ctx context.Context, verb string, names []string) error {
	return n.client.do(ctx, http.MethodPost, NodesPath+"/"+verb, url.Values{"name": names}, nil, &struct{}{})
}
