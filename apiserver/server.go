package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/storage"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	_ "k8s.io/component-base/metrics/prometheus/version" // registers kubernetes_build_info
	aggregatorapiserver "k8s.io/kube-aggregator/pkg/apiserver"
	listers "k8s.io/kube-aggregator/pkg/client/listers/apiregistration/v1"

	"github.com/ctrlplane/ctrlplane/apiserver/loopback"
	"github.com/ctrlplane/ctrlplane/internal/encryption"
	"github.com/ctrlplane/ctrlplane/internal/informersync"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

// Server is a running API server, from Start until Close or until it fails.
type Server struct {
	aggregator      *aggregatorapiserver.APIAggregator
	handler         http.Handler
	requestCounter  *requestCounter
	localAPIs       []*localAPIRoute
	writeBarrier    *writeBarrier
	namespaceWrites *namespaceWrites
	ownWrites       *ownWrites
	requestEnd      *requestEnd

	// staticWebhooks is set if there may be webhooks that are in a file.
	staticWebhooks bool

	values encryption.Reader

	enabled storage.APIResourceConfigSource // by --runtime-config, of the built-in kinds

	// informers are the API server's own.
	informers   informers.SharedInformerFactory
	apiServices listers.APIServiceLister

	grants []Grant

	bootstrapped chan struct{} // closed when the bootstrap policy is in force, or has failed
	bootstrapErr error         // final when bootstrapped is closed

	cancel       context.CancelFunc
	startedEmpty func() bool // see Etcd.StartedEmpty
	release      func()      // undoes the changes to the process
	done         chan struct{}
	err          error // final when done is closed
}

// Start assembles the server and serves. It returns before /readyz is green; see
// WaitReady. The context bounds the assembly only.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	// Has an effect only after an error: the first handler that is set stays.
	defer cfg.Handler.Set(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the API server did not start", http.StatusServiceUnavailable)
	}))
	options, err := cfg.completeOptions(ctx)
	if err != nil {
		return nil, err
	}
	name, err := cache.NewInformerName("kube-apiserver")
	if err != nil {
		return nil, fmt.Errorf("apiserver: another API server is running in this process: %w", err)
	}
	options.InformerName = name
	release, checkClient, endAssembly := name.Release, func() error { return nil }, func(failed bool) {}
	if cfg.Etcd.Connect != nil {
		replaced, err := replaceEtcdClient(options.Etcd.StorageConfig.Prefix, cfg.Etcd)
		if err != nil {
			name.Release()
			return nil, err
		}
		release = func() { replaced.undoReplacement(); name.Release() }
		checkClient, endAssembly = replaced.check, replaced.endAssembly
	}
	s, err := assembleServer(cfg, options, release, checkClient)
	endAssembly(err != nil)
	if err != nil {
		release()
		return nil, err
	}
	return s, nil
}

// runServers runs the server until Close, or until it fails. A bootstrap that fails does
// not end it: upstream's post-start hooks would then end the process, before the start
// has reported why.
func (s *Server) runServers(ctx context.Context, run func(context.Context) error) {
	defer close(s.done)
	defer s.release()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	bootstrapEnded := make(chan struct{})
	go func() {
		defer close(bootstrapEnded)
		err := s.establishPolicy(ctx)
		if err != nil && ctx.Err() != nil {
			return // because the server ends
		}
		if err != nil {
			s.bootstrapErr = fmt.Errorf("apiserver: bootstrap policy: %w", err)
		}
		close(s.bootstrapped)
	}()
	err := run(ctx)
	cancel()
	<-bootstrapEnded
	s.err = err
}

// EstablishPolicy does again what Start has done, after the state was replaced: a snapshot of an
// older release lacks a part of the bootstrap policy.
func (s *Server) EstablishPolicy(ctx context.Context) error {
	defer s.ownWrites.exempt()()
	if err := s.establishPolicy(ctx); err != nil {
		return fmt.Errorf("apiserver: bootstrap policy: %w", err)
	}
	return nil
}

// establishPolicy returns when the bootstrap policy is in force.
func (s *Server) establishPolicy(ctx context.Context) error {
	cfg := s.ClientConfig(apiServerUser())
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return contextTransport{ctx, rt} })
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	var revisions informersync.Revisions
	err = retryBootstrap(ctx, func() (err error) {
		if revisions, err = reconcileBootstrapPolicy(ctx, client, s.grants...); err != nil {
			return err
		}
		return s.createLocalObjects(ctx)
	})
	if err != nil {
		return err
	}
	return s.waitAuthorizer(ctx, revisions)
}

func (s *Server) createLocalObjects(ctx context.Context) error {
	for _, api := range s.localAPIs {
		if err := api.createObjects(ctx, s.ClientConfig(apiServerUser())); err != nil {
			return err
		}
	}
	return nil
}

// waitAuthorizer returns when the authorizer applies what was written: it reads roles
// and bindings from the API server's informers, which receive them a moment later, on a
// machine that is very busy a long one.
func (s *Server) waitAuthorizer(ctx context.Context, written informersync.Revisions) error {
	return informersync.WaitTyped(ctx, s.informers, written, 0)
}

// contextTransport fails requests once its context has ended. Upstream's
// reconciliation of the policy passes no context, and a server that is closing
// answers with the advice to retry.
type contextTransport struct {
	ctx context.Context
	rt  http.RoundTripper
}

func (t contextTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.rt.RoundTrip(req)
	if ended := context.Cause(t.ctx); ended != nil {
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
		return s.bootstrapErr
	default:
		return errors.New("not finished")
	}
}

// ClientConfig returns the configuration of a client in this process that acts as
// user who. Its requests are authorized like any others.
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

// RequestCount returns the number of requests so far, of clients in the process and
// of others.
func (s *Server) RequestCount() int64 { return s.requestCounter.n.Load() }

// WaitServing returns when the API server serves: the bootstrap policy is in force
// and, unless the storage was empty at the start, the post-start hooks have ended,
// because before that custom resources are unknown. Other checks may still fail.
func (s *Server) WaitServing(ctx context.Context) error {
	if err := s.WaitPolicy(ctx); err != nil || s.startedEmpty() {
		return err
	}
	return s.waitHealthy(ctx, "/livez")
}

// WaitPolicy returns when the bootstrap policy is in force. Until then most requests
// are forbidden.
func (s *Server) WaitPolicy(ctx context.Context) error {
	select {
	case <-s.bootstrapped:
		return s.bootstrapErr
	case <-s.done:
	case <-ctx.Done():
	}
	return s.waitHealthy(ctx, "/livez") // returns the error that says what is wrong
}

// WaitReady returns when /readyz is green. The error names the checks that fail.
// From then on webhooks apply to the API server's own writes, too.
func (s *Server) WaitReady(ctx context.Context) error {
	if err := s.waitHealthy(ctx, "/readyz"); err != nil {
		return err
	}
	s.ownWrites.webhooksApply.Store(true)
	return nil
}

// CheckReadable fails with an *encryption.UnreadableError if the server cannot decrypt values of a state that are not stored
// already.
func (s *Server) CheckReadable(ctx context.Context, state, stored snapshot.State) error {
	return s.values.Check(ctx, state, stored)
}

// IsEnabled reports whether the server serves a built-in kind: --runtime-config may have turned it off.
func (s *Server) IsEnabled(resource schema.GroupVersionResource) bool {
	return s.enabled.ResourceEnabled(resource)
}

// UnsyncedResources returns the prefixes of the resources that the server has not listed yet, and
// without which it does not become ready.
func (s *Server) UnsyncedResources() map[string]bool { return informersync.Unsynced(s.informers) }

// Done is closed when the server has ended; Err then returns why.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns why the server has ended. It is nil while the server runs and after
// Close.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// BeginClose gives the requests in flight a few seconds to end, and then cancels them.
// Close begins with it; call it earlier if parts that wait for their requests are
// closed first.
func (s *Server) BeginClose() {
	s.ownWrites.webhooksApply.Store(false)
	s.requestEnd.begin()
}

// Close drains the server and returns when it has ended.
func (s *Server) Close() error {
	s.BeginClose()
	s.cancel()
	select {
	case <-s.done:
	case <-time.After(requestGrace + closeTimeout):
		return errCloseTimeout
	}
	s.requestEnd.finish()
	s.namespaceWrites.stop()
	return s.err
}
