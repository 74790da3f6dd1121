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

// countParameter is the number of nodes to add.
const countParameter = "count"

// handleNodes serves the simulated nodes. Verbs take their names as repeated query values.
func handleNodes(mux *http.ServeMux, nodes control.Nodes) {
	handle(mux, "GET "+NodesPath, func(req *http.Request) (any, error) {
		list, err := nodes.List(req.Context())
		return control.NodeList{Items: orEmpty(list)}, err
	})
	handle(mux, "POST "+NodesPath, func(req *http.Request) (any, error) {
		n, err := parseNumber(countParameter, req.URL.Query().Get(countParameter), 1)
		if err != nil {
			return nil, err
		}
		names, err := nodes.Add(req.Context(), n)
		return nodeNames{orEmpty(names)}, err
	}, countParameter)
	handleNodeVerb(mux, "DELETE "+NodesPath, nodes.Remove)
	for verb, do := range map[string]func(context.Context, ...string) error{
		"fail": nodes.Fail, "recover": nodes.Recover, "terminate": nodes.Terminate,
	} {
		handleNodeVerb(mux, "POST "+NodesPath+"/"+verb, do)
	}
}

func handleNodeVerb(mux *http.ServeMux, pattern string, do func(context.Context, ...string) error) {
	handle(mux, pattern, func(req *http.Request) (any, error) {
		names := req.URL.Query()[nameParameter]
		if len(names) == 0 {
			return nil, usage.Errorf("no node is named: add ?name=NODE, which is repeatable")
		}
		return struct{}{}, do(req.Context(), names...)
	}, nameParameter)
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
		params := url.Values{countParameter: {strconv.Itoa(min(count-len(names), maxAddPerRequest))}}
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
	return n.client.do(ctx, http.MethodDelete, NodesPath, url.Values{nameParameter: names}, nil, &struct{}{})
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
	return n.client.do(ctx, http.MethodPost, NodesPath+"/"+verb, url.Values{nameParameter: names}, nil, &struct{}{})
}
