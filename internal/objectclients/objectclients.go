// Package objectclients makes clients that read objects of any kind.
package objectclients

import (
	"cmp"
	"net/http"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Clients share an HTTP client. They have no rate limit, and ignore the warnings of the API
// server, which concern the author of the objects.
type Clients struct {
	Kinds   discovery.DiscoveryInterfaceWithContext
	Objects dynamic.Interface

	Config *rest.Config // for further clients
	HTTP   *http.Client
}

// New returns clients for a copy of cfg. It does not connect.
func New(cfg *rest.Config) (*Clients, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.RateLimiter, cfg.QPS = nil, -1
	cfg.WarningHandlerWithContext = rest.NoWarnings{}
	cfg.UserAgent = cmp.Or(cfg.UserAgent, rest.DefaultKubernetesUserAgent()) // HTTPClientFor has no default
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	kinds, err := discovery.NewDiscoveryClientForConfigAndClient(cfg, client)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, err
	}
	return &Clients{Kinds: kinds, Objects: objects, Config: cfg, HTTP: client}, nil
}
