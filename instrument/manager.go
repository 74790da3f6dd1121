package instrument

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Manager returns mgr such that the controllers that are added to what it returns are
// reported to ctrlplane, if that serves the API. Call it right after the manager was made:
// it changes the transport of the manager's HTTP client. What cannot be observed is
// logged once the server is known to be ctrlplane; the manager works in any case.
func Manager(mgr manager.Manager) manager.Manager {
	client := mgr.GetHTTPClient()
	if client == nil || client == http.DefaultClient { // neither has credentials of an API server
		return mgr
	}
	r, err := newReporter(mgr.GetConfig(), client, mgr.GetLogger().WithName("ctrlplane"))
	if err == nil {
		err = errors.Join(mgr.Add(r), mgr.Add(&sender{r}))
	}
	if err != nil {
		mgr.GetLogger().Error(err, "this operator is not reported to ctrlplane")
		return mgr
	}
	own := *client // for reports, which are for this server only
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r.client = &own
	client.Transport = &transport{next: transportOf(client), reporter: r}
	return &observedManager{
		Manager:  mgr,
		reporter: r,
		cache:    &observedCache{Cache: mgr.GetCache(), reporter: r, scheme: mgr.GetScheme(), mapper: mgr.GetRESTMapper()},
	}
}

func transportOf(c *http.Client) http.RoundTripper {
	if c.Transport == nil {
		return http.DefaultTransport
	}
	return c.Transport
}

// observedManager is a manager whose controllers are observed.
type observedManager struct {
	manager.Manager
	reporter *reporter
	cache    cache.Cache
}

// Start implements manager.Manager. Reports begin before the manager waits for caches, and end
// after the syncs that go on while it stops.
func (m *observedManager) Start(ctx context.Context) error {
	defer m.reporter.start(ctx)()
	return m.Manager.Start(ctx)
}

// Add implements manager.Manager.
func (m *observedManager) Add(runnable manager.Runnable) error {
	observed, err := observeController(m.reporter, runnable)
	if err != nil {
		m.reporter.logError(err, "a controller is not reported")
	}
	return m.Manager.Add(observed)
}

// GetCache implements cluster.Cluster.
func (m *observedManager) GetCache() cache.Cache { return m.cache }

// GetConfig implements cluster.Cluster. Clients that are made from it say which sync makes
// a request.
func (m *observedManager) GetConfig() *rest.Config {
	cfg := rest.CopyConfig(m.Manager.GetConfig())
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &transport{next: next, reporter: m.reporter} })
	return cfg
}
