package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Client asks a running control plane.
type Client struct{ rest *rest.RESTClient }

// NewClient returns a client with the credentials in cfg.
func NewClient(cfg *rest.Config) (*Client, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	return &Client{c}, nil
}

var _ observe.Source = (*Client)(nil)

// Controllers returns every controller, by name.
func (c *Client) Controllers(ctx context.Context) ([]Controller, error) {
	var list ControllerList
	if err := c.get(ctx, ControllersPath, nil, &list); err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Snapshot implements observe.Source.
func (c *Client) Snapshot(ctx context.Context) (s observe.Snapshot, err error) {
	return s, c.get(ctx, SnapshotPath, nil, &s)
}

// Records implements observe.Source.
func (c *Client) Records(ctx context.Context, q observe.Query) (p observe.Page, err error) {
	return p, c.get(ctx, RecordsPath, writeQuery(q), &p)
}

func (c *Client) get(ctx context.Context, path string, params url.Values, into any) error {
	req := c.rest.Get().AbsPath(path)
	for name, values := range params {
		for _, v := range values {
			req.Param(name, v)
		}
	}
	data, err := req.DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("control: %s: %w", path, err)
	}
	return nil
}
