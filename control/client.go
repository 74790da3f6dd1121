package control

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
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

// Controllers returns every controller, by name.
func (c *Client) Controllers(ctx context.Context) ([]Controller, error) {
	data, err := c.rest.Get().AbsPath(ControllersPath).DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	var list ControllerList
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("control: %s: %w", ControllersPath, err)
	}
	return list.Items, nil
}
