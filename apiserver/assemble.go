package apiserver

import (
	"context"
	"path"
	"time"

	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/component-base/configz"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/ctrlplane/ctrlplane/internal/encryption"
)

// connectionDrainTimeout is how long Close waits for open connections once all
// requests are answered. Watches do not end by themselves: they are cut off then.
const connectionDrainTimeout = 100 * time.Millisecond

// assembleServer returns a server that calls release when it has ended. checkClient fails if
// upstream did not use the etcd clients that it was given.
func assembleServer(cfg Config, o options.CompletedOptions, release func(), checkClient func() error) (_ *Server, err error) {
	s := &Server{
		handler:        cfg.Handler,
		startedEmpty:   cfg.Etcd.startedEmptyFunc(),
		release:        release,
		ownWrites:      exemptOwnWrites(o),
		staticWebhooks: o.Admission.GenericAdmission.ConfigFile != "",
		grants:         cfg.Grants,
		bootstrapped:   make(chan struct{}),
		done:           make(chan struct{}),
	}
	config, err := cfg.newUpstreamConfig(o)
	if err != nil {
		return nil, err
	}
	s.enabled = config.KubeAPIs.ControlPlane.APIResourceConfigSource
	s.values = encryption.Reader{Prefix: path.Join("/", o.Etcd.StorageConfig.Prefix), Transformers: config.KubeAPIs.ControlPlane.Generic.ResourceTransformers}
	if err := useLoopbackClients(config, cfg.Handler); err != nil {
		return nil, err
	}
	documents, err := s.extendConfig(config, cfg)
	if err != nil {
		return nil, err
	}
	completed, err := config.Complete()
	if err != nil {
		return nil, err
	}
	if s.aggregator, err = app.CreateServerChain(completed); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.aggregator.GenericAPIServer.Destroy() // the storages, which a server that runs does itself
		}
	}()
	if err := checkClient(); err != nil {
		return nil, err
	}
	if err := s.extendAggregator(documents); err != nil {
		return nil, err
	}
	cfg.Handler.Set(s.aggregator.GenericAPIServer.Handler)
	if err := s.beginServing(documents); err != nil {
		return nil, err
	}
	return s, nil
}

// extendConfig adds ctrlplane's handlers and APIs to upstream's configuration, before it is
// completed. The order is that in which upstream's chain of handlers is wrapped.
func (s *Server) extendConfig(config *app.Config, cfg Config) (*openAPIDocuments, error) {
	front := config.Aggregator.GenericConfig
	s.informers = config.KubeAPIs.ControlPlane.VersionedInformers
	if cfg.Loan != nil {
		cfg.Loan.lend(s.informers)
	}
	for _, api := range cfg.LocalAPIs {
		route, err := newLocalAPIRoute(front, api)
		if err != nil {
			return nil, err
		}
		s.localAPIs = append(s.localAPIs, route)
	}
	installLongRunning(front, cfg.IsLongRunning)
	installBookmarkMarks(front)
	installWatchFlows(front)
	s.writeBarrier, s.namespaceWrites = installWriteBarrier(front)
	documents := deferOpenAPI(config)
	installOutsideHandler(front, cfg.Outside)
	s.requestCounter = installRequestCounter(front)
	s.requestEnd = installRequestEnd(front)
	return documents, nil
}

// extendAggregator adds to the server in front of the others what its configuration cannot
// have.
func (s *Server) extendAggregator(documents *openAPIDocuments) error {
	for _, api := range s.localAPIs {
		if err := api.installGroup(s.aggregator, s.informers); err != nil {
			return err
		}
	}
	if err := documents.registerDocuments(s.aggregator); err != nil {
		return err
	}
	s.apiServices = s.aggregator.APIRegistrationInformers.Apiregistration().V1().APIServices().Lister()
	generic := s.aggregator.GenericAPIServer
	generic.ShutdownTimeout = connectionDrainTimeout
	configz.InstallHandler(generic.Handler.NonGoRestfulMux)
	return generic.AddReadyzChecks(healthz.NamedCheck(bootstrapCheckName, s.checkBootstrapped))
}

// beginServing starts the informers, then the servers in the background.
func (s *Server) beginServing(documents *openAPIDocuments) error {
	ctx, cancel := context.WithCancel(context.Background())
	// Upstream's post-start hooks poll these every 100 ms. Started here, they have
	// synced by the first poll.
	s.informers.Start(ctx.Done())
	s.aggregator.APIRegistrationInformers.Start(ctx.Done())
	prepared, err := s.aggregator.PrepareRun()
	if err != nil {
		cancel()
		return err
	}
	documents.releaseDefinitions()
	s.cancel = cancel
	go s.runServers(ctx, prepared.Run)
	return nil
}
