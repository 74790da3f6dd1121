package control

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

	"github.com/ctrlplane/ctrlplane/internal/usage"
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
	if err := c.do(ctx, http.MethodGet, ControllersPath, nil, &list); err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Snapshot implements observe.Source.
func (c *Client) Snapshot(ctx context.Context) (s observe.Snapshot, err error) {
	err = c.do(ctx, http.MethodGet, SnapshotPath, nil, &s)
	return s, err
}

// Records implements observe.Source.
func (c *Client) Records(ctx context.Context, q observe.Query) (p observe.Page, err error) {
	err = c.do(ctx, http.MethodGet, RecordsPath, encodeQuery(q), &p)
	return p, err
}

func (c *Client) do(ctx context.Context, method, path string, params url.Values, into any) error {
	req := c.rest.Verb(method).AbsPath(path)
	for name, values := range params {
		for _, v := range values {
			req.Param(name, v)
		}
	}
	result := req.Do(ctx)
	if err := result.Error(); err != nil { // Raw would not read what the server says
		if status, ok := errors.AsType[*apierrors.StatusError](err); ok && status.ErrStatus.Code == http.StatusBadRequest {
			return usage.Errorf("%w", err)
		}
		return err
	}
	data, err := result.Raw()
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("control: %s: %w", path, err)
	}
	return nil
}
