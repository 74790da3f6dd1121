package controllers

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	serviceaccountcontroller "k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/serviceaccount"

	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/controllers/recording"
)

// endWith cancels a construction when limit ends: some constructors retry their calls for
// minutes. The context of one that has succeeded goes on.
func endWith(limit context.Context, construct constructFunc) constructFunc {
	return func(ctx context.Context) (app.Controller, error) {
		if limit.Err() != nil {
			return nil, context.Cause(limit)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		stop := context.AfterFunc(limit, func() { cancel(context.Cause(limit)) })
		built, err := construct(ctx)
		if !stop() {
			return nil, context.Cause(limit)
		}
		return built, err
	}
}

// constructorFor returns the constructor of a controller: upstream's descriptor,
// except for extra controllers, for the token controller, whose descriptor has no
// public constructor, and for the namespace controller, which has a faster
// implementation for a single API server.
func (s *Supervisor) constructorFor(name string, c app.ControllerContext) constructFunc {
	if name == names.ServiceAccountTokenController {
		return func(ctx context.Context) (app.Controller, error) { return s.newTokenController(ctx, c) }
	}
	if name == names.NamespaceController && s.cfg.SingleAPIServer {
		return func(ctx context.Context) (app.Controller, error) { return s.newNamespaceController(ctx, c) }
	}
	for _, e := range s.cfg.Extra {
		if e.Name == name {
			return e.newConstructor(c)
		}
	}
	if name == names.StorageVersionMigratorController && c.GraphBuilder == nil && migratorEnabled() {
		return func(ctx context.Context) (app.Controller, error) { // upstream's would end the process
			klog.FromContext(ctx).Info(needsCollector)
			return nil, nil
		}
	}
	descriptor := app.NewControllerDescriptors()[name]
	return func(ctx context.Context) (app.Controller, error) {
		made, err := descriptor.BuildController(ctx, c)
		if err != nil || name != names.GarbageCollectorController {
			return made, err
		}
		return newCRDAwareGC(c, made)
	}
}

// migratorEnabled reports whether upstream would build the storage version migrator.
func migratorEnabled() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.StorageVersionMigrator) &&
		clientfeatures.FeatureGates().Enabled(clientfeatures.InformerResourceVersion)
}

// needsCollector is why a controller does not run without the graph of owners.
const needsCollector = "needs the garbage collector"

// buildOwnerGraph creates the graph of owners, if the garbage collector is to run.
func (s *Supervisor) buildOwnerGraph() {
	gc := s.units[names.GarbageCollectorController]
	s.informers.graphView = s.informers.newView(gc.recorder)
	if gc.status().Reason != "" || !s.config.GarbageCollectorController.EnableGarbageCollector {
		return
	}
	ignored := map[schema.GroupResource]struct{}{}
	for _, r := range s.config.GarbageCollectorController.GCIgnoredResources {
		ignored[schema.GroupResource{Group: r.Group, Resource: r.Resource}] = struct{}{}
	}
	ctx := klog.NewContext(s.informers.ctx, gc.logger())
	gc.recorder.Do(func() {
		s.informers.graph = garbagecollector.NewDependencyGraphBuilder(ctx, s.informers.metadataClient, s.informers.mapper, ignored,
			objectOrMetadata{s.informers.graphView}, s.informers.started)
	})
}

// newTokenController returns the controller of Secrets of type
// service-account-token. It acts as the controller manager: it is the one
// controller that upstream runs with full privileges.
func (s *Supervisor) newTokenController(ctx context.Context, c app.ControllerContext) (app.Controller, error) {
	sa := c.ComponentConfig.SAController
	if sa.ServiceAccountKeyFile == "" {
		klog.FromContext(ctx).Info("no private key to sign tokens with")
		return nil, nil
	}
	key, err := keyutil.PrivateKeyFromFile(sa.ServiceAccountKeyFile)
	if err != nil {
		return nil, fmt.Errorf("service account key: %w", err)
	}
	rootCA, err := os.ReadFile(sa.RootCAFile)
	if err != nil {
		return nil, fmt.Errorf("root CA: %w", err)
	}
	u := s.units[names.ServiceAccountTokenController]
	client, err := kubernetes.NewForConfig(recording.ObserveCalls(intervene.InterceptCalls(s.ManagerConfig("tokens-controller"), u.currentGate()), u.recorder))
	if err != nil {
		return nil, err
	}
	generator, err := serviceaccount.JWTTokenGenerator(serviceaccount.LegacyIssuer, key)
	if err != nil {
		return nil, fmt.Errorf("token generator: %w", err)
	}
	logger := klog.LoggerWithName(klog.FromContext(ctx), names.ServiceAccountTokenController)
	tokens, err := serviceaccountcontroller.NewTokensController(logger,
		c.InformerFactory.Core().V1().ServiceAccounts(), c.InformerFactory.Core().V1().Secrets(), client,
		serviceaccountcontroller.TokensControllerOptions{TokenGenerator: generator, RootCA: rootCA})
	if err != nil {
		return nil, err
	}
	return funcController{names.ServiceAccountTokenController, func(ctx context.Context) {
		tokens.Run(ctx, int(sa.ConcurrentSATokenSyncs))
	}}, nil
}

// funcController is a controller that runs a function until the context ends.
type funcController struct {
	name string
	run  func(context.Context)
}

func (l funcController) Name() string            { return l.name }
func (l funcController) Run(ctx context.Context) { l.run(ctx) }
