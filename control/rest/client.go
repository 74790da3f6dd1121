package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Client is a client of a running control plane.
type Client struct{ rest *rest.RESTClient }

// NewClient returns a client that uses cfg without its rate limit. A Timeout in cfg applies to
// each request: one that is shorter than control.StepTimeout ends Step and StepKey with an error
// while they wait.
//
// If the server says that a request is not valid, the error wraps its answer: apierrors.IsBadRequest
// recognizes it.
func NewClient(cfg *rest.Config) (*Client, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.RateLimiter, cfg.QPS = nil, -1
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	return &Client{c}, nil
}

var (
	_ observe.Source    = (*Client)(nil)
	_ observe.KeySource = (*Client)(nil)
)

// Controllers returns every controller, sorted by name.
func (c *Client) Controllers(ctx context.Context) ([]control.Controller, error) {
	var list control.ControllerList
	if err := c.do(ctx, http.MethodGet, ControllersPath, nil, nil, &list); err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Clients returns the clients of the control plane, sorted by name.
func (c *Client) Clients(ctx context.Context) ([]observe.Client, error) {
	var list control.ClientList
	err := c.do(ctx, http.MethodGet, ClientsPath, nil, nil, &list)
	return list.Items, err
}

// Permissions returns what a client, by its name or program, has asked for.
func (c *Client) Permissions(ctx context.Context, client string) (list control.PermissionList, err error) {
	err = c.do(ctx, http.MethodGet, PermissionsPath, url.Values{nameParameter: {client}}, nil, &list)
	return list, err
}

// Flags returns the flags of kube-controller-manager with their values.
func (c *Client) Flags(ctx context.Context) ([]control.Flag, error) {
	var list control.FlagList
	err := c.do(ctx, http.MethodGet, FlagsPath, nil, nil, &list)
	return list.Items, err
}

// Unhealthy returns the objects that wait for something that need not come by itself.
func (c *Client) Unhealthy(ctx context.Context) ([]control.UnhealthyObject, error) {
	var list control.UnhealthyList
	err := c.do(ctx, http.MethodGet, UnhealthyPath, nil, nil, &list)
	return list.Items, err
}

// Snapshot implements observe.Source.
func (c *Client) Snapshot(ctx context.Context) (observe.Snapshot, error) {
	return c.SnapshotWithKeys(ctx)
}

// SnapshotWithKeys implements observe.KeySource.
func (c *Client) SnapshotWithKeys(ctx context.Context, keys ...string) (s observe.Snapshot, err error) {
	err = c.do(ctx, http.MethodGet, SnapshotPath, url.Values{failingParameter: keys}, nil, &s)
	return s, err
}

// Records implements observe.Source.
func (c *Client) Records(ctx context.Context, q observe.Query) (p observe.Page, err error) {
	err = c.do(ctx, http.MethodGet, RecordsPath, encodeQuery(q), nil, &p)
	return p, err
}

// do sends a request, with body as JSON unless it is nil, and decodes the response
// into result. Its errors for a request that is not valid are usage errors.
func (c *Client) do(ctx context.Context, method, path string, params url.Values, body, result any) error {
	req := c.rest.Verb(method).AbsPath(path)
	for name, values := range params {
		for _, v := range values {
			req.Param(name, v)
		}
	}
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil { // a number that is not finite
			return usage.Errorf("%w", err)
		}
		req.SetHeader("Content-Type", "application/json").Body(data)
	}
	return decodeResponse(req.Do(requestlog.Discard(ctx)), path, result)
}

// decodeResponse decodes the response of path into result. Its errors are those of readResponse.
func decodeResponse(response rest.Result, path string, result any) error {
	data, err := readResponse(response)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, result); err != nil {
		return fmt.Errorf("control: %s: %w", path, err)
	}
	return nil
}

// readResponse returns the body of a response. If the server says that the request is not valid, the error
// is a usage error, as it is for a control plane that is not running.
func readResponse(response rest.Result) ([]byte, error) {
	if err := response.Error(); err != nil { // Raw would not decode the server's message
		if status, ok := errors.AsType[*apierrors.StatusError](err); ok && status.ErrStatus.Code == http.StatusBadRequest {
			return nil, usage.Errorf("%w", err)
		}
		return nil, err
	}
	data, err := response.Raw()
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	return data, nil
}
