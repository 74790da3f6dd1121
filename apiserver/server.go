// Package apiserver assembles upstream's API server in this process and serves
// it on a listener and, without leaving the process, to whoever Connects.
package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/configz"
	aggregatorapiserver "k8s.io/kube-aggregator/pkg/apiserver"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/ctrlplane/ctrlplane/apiserver/loopback"
)

// connectionDrainTimeout is how long connections may stay open once the requests on them
// are answered. Watches never are: those of clients that do not go are cut.
const connectionDrainTimeout = 100 * time.Millisecond

// Server is an API server that runs. Start makes one, Close ends it.
type Server struct {
	aggregator     *aggregatorapiserver.APIAggregator
	handler        http.Handler
	requestCounter *requestCounter

	metricsRoute *metricsRoute
	writeBarrier *writeBarrier

	// informers are the API server's own.
	informers informers.SharedInformerFactory

	grants []Grant

	bootstrapped chan struct{} // closed when the bootstrap policy is there

	cancel       context.CancelFunc
	startedEmpty func() bool // the storage began empty
	release      func()      // what the process has one of
	done         chan struct{}
	err          error // final when done is closed
}

// Start assembles the server and serves; it returns before /readyz is green
// (see WaitReady). ctx bounds the assembly only.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	// Has no effect but after an error.
	defer cfg.Handler.Set(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the API server did not start", http.StatusServiceUnavailable)
	}))
	options, err := cfg.completeOptions(ctx)
	if err != nil {
		return nil, err
	}
	name, err := cache.NewInformerName("kube-apiserver")
	if err != nil {
		return nil, fmt.Errorf("apiserver: another one runs in this process: %w", err)
	}
	options.InformerName = name
	release := name.Release
	if cfg.Etcd.Connect != nil {
		restore := replaceEtcdClient(cfg.Etcd.Connect)
		release = func() { restore(); name.Release() }
	}
	s, err := assembleServer(cfg, options, release)
	if err != nil {
		release()
		return nil, err
	}
	return s, nil
}

// assembleServer returns a server that calls release when it has ended.
func assembleServer(cfg Config, o options.CompletedOptions, release func()) (*Server, error) {
	config, err := cfg.newUpstreamConfig(o)
	if err != nil {
		return nil, err
	}
	useLoopbackClients(config, cfg.Handler)
	metrics, err := routeMetrics(config.Aggregator.GenericConfig, cfg.NoMetrics)
	if err != nil {
		return nil, err
	}
	installBookmarkMarks(config.Aggregator.GenericConfig)
	fence := installWriteBarrier(config.Aggregator.GenericConfig)
	documents := deferOpenAPI(config)
	count := installRequestCounter(config.Aggregator.GenericConfig)
	completed, err := config.Complete()
	if err != nil {
		return nil, err
	}
	front, err := app.CreateServerChain(completed)
	if err != nil {
		return nil, err
	}
	if err := metrics.install(front, config.KubeAPIs.ControlPlane.VersionedInformers); err != nil {
		return nil, err
	}
	if err := documents.install(front); err != nil {
		return nil, err
	}
	front.GenericAPIServer.ShutdownTimeout = connectionDrainTimeout
	configz.InstallHandler(front.GenericAPIServer.Handler.NonGoRestfulMux)

	cfg.Handler.Set(front.GenericAPIServer.Handler)

	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{
		aggregator:     front,
		handler:        cfg.Handler,
		startedEmpty:   cfg.Etcd.startedEmptyFunc(),
		release:        release,
		requestCounter: count,
		metricsRoute:   metrics,
		writeBarrier:   fence,
		informers:      config.KubeAPIs.ControlPlane.VersionedInformers,
		grants:         cfg.Grants,
		bootstrapped:   make(chan struct{}),
		cancel:         cancel,
		done:           make(chan struct{}),
	}
	if err := front.GenericAPIServer.AddReadyzChecks(healthz.NamedCheck(bootstrapCheckName, s.checkBootstrapped)); err != nil {
		cancel()
		return nil, err
	}
	// Upstream's hooks look for these every 100 ms, and start them no sooner.
	s.informers.Start(ctx.Done())
	front.APIRegistrationInformers.Start(ctx.Done())
	prepared, err := front.PrepareRun()
	if err != nil {
		cancel()
		return nil, err
	}
	documents.releaseDefinitions()
	go s.serve(ctx, prepared.Run)
	return s, nil
}

// serve serves until Close, or until serving or the bootstrap fails.
func (s *Server) serve(ctx context.Context, serve func(context.Context) error) {
	defer close(s.done)
	defer s.release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	bootstrapEnded := make(chan struct{})
	go func() {
		defer close(bootstrapEnded)
		cfg := s.ClientConfig(apiServerUser())
		cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return contextTransport{ctx, rt} })
		client, err := kubernetes.NewForConfig(cfg)
		if err == nil {
			err = reconcileBootstrapPolicy(ctx, client, s.grants...)
		}
		if err == nil {
			err = s.metricsRoute.register(ctx, s.ClientConfig(apiServerUser()))
		}
		if err != nil && ctx.Err() == nil {
			cancel(fmt.Errorf("apiserver: bootstrap policy: %w", err))
			return
		}
		close(s.bootstrapped)
	}()
	err := serve(ctx)
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	cancel(nil)
	<-bootstrapEnded
	s.err = err
}

// contextTransport fails requests once its context has ended: upstream's reconciliation of
// the policy passes none, and a server that ends asks its clients to come again.
type contextTransport struct {
	ctx context.Context
	rt  http.RoundTripper
}

func (u contextTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := u.rt.RoundTrip(req)
	if ended := context.Cause(u.ctx); ended != nil {
		if err == nil {
			resp.Body.Close()
		}
		return nil, ended
	}
	return resp, err
}

func (s *Server) checkBootstrapped(*http.Request) error {
	select {
	case <-s.bootstrapped:
		return nil
	default:
		return errors.New("not finished")
	}
}

// ClientConfig returns a client configuration for callers inside the process. What
// they ask for is authorized like any request.
func (s *Server) ClientConfig(who user.Info) *rest.Config {
	return loopback.ClientConfig(s.handler, who)
}

// Handle serves handler at path and below it, behind the API server's
// authentication and authorization.
func (s *Server) Handle(path string, handler http.Handler) {
	mux := s.aggregator.GenericAPIServer.Handler.NonGoRestfulMux
	mux.UnlistedHandle(path, handler)
	mux.UnlistedHandlePrefix(path+"/", handler)
}

// RequestCount is how many requests there have been, from inside and outside.
func (s *Server) RequestCount() int64 { return s.requestCounter.n.Load() }

// WaitServing returns when the API server does its work: the bootstrap policy is
// there and, unless its storage began empty, its post-start hooks are through,
// which know of custom resources only then. Other checks may be red.
func (s *Server) WaitServing(ctx context.Context) error {
	if err := s.WaitPolicy(ctx); err != nil || s.startedEmpty() {
		return err
	}
	return s.waitHealthy(ctx, "/livez")
}

// WaitPolicy returns when the bootstrap policy is there: until then hardly
// anybody may do anything.
func (s *Server) WaitPolicy(ctx context.Context) error {
	select {
	case <-s.bootstrapped:
		return nil
	case <-s.done:
	case <-ctx.Done():
	}
	return s.waitHealthy(ctx, "/livez") // which says what is wrong
}

// WaitReady returns when /readyz is green. The error names the checks that are not.
func (s *Server) WaitReady(ctx context.Context) error {
	return s.waitHealthy(ctx, "/readyz")
}

// Done is closed when the server has ended; Err then says why.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err is nil while the server runs and after Close.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Close drains the server and returns when it has ended.
func (s *Server) Close() error {
	s.cancel()
	<-s.done
	return s.err
}
