package controllers

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	serviceaccountcontroller "k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/serviceaccount"
)

// constructor returns what builds a controller: upstream's descriptor, but for
// those that are extra, for the token controller, which has no client to build
// with in the public map, and for what is quicker beside a lone API server.
func (s *Supervisor) constructor(name string, c app.ControllerContext) builder {
	if name == names.ServiceAccountTokenController {
		return func(ctx context.Context) (app.Controller, error) { return s.tokenController(ctx, c) }
	}
	if name == names.NamespaceController && s.cfg.Alone {
		return func(ctx context.Context) (app.Controller, error) { return s.namespaceController(ctx, c) }
	}
	for _, e := range s.cfg.Extra {
		if e.Name == name {
			return e.builder(c)
		}
	}
	descriptor := app.NewControllerDescriptors()[name]
	return func(ctx context.Context) (app.Controller, error) {
		made, err := descriptor.BuildController(ctx, c)
		if err != nil || name != names.GarbageCollectorController {
			return made, err
		}
		return eager(c, made)
	}
}

// buildGraph makes the graph of owners, if the garbage collector is to run.
func (s *Supervisor) buildGraph() {
	gc := s.units[names.GarbageCollectorController]
	s.shared.graphFacade = s.shared.facade(gc.by)
	if gc.status().Reason != "" || !s.component.GarbageCollectorController.EnableGarbageCollector {
		return
	}
	ignored := map[schema.GroupResource]struct{}{}
	for _, r := range s.component.GarbageCollectorController.GCIgnoredResources {
		ignored[schema.GroupResource{Group: r.Group, Resource: r.Resource}] = struct{}{}
	}
	ctx := klog.NewContext(s.shared.ctx, gc.logger())
	gc.do(func() {
		s.shared.graph = garbagecollector.NewDependencyGraphBuilder(ctx, s.shared.metadataClient, s.shared.mapper, ignored,
			objectOrMetadata{s.shared.graphFacade}, s.shared.started)
	})
}

// tokenController fills Secrets of type service-account-token. It acts as the
// manager: it is the one controller that upstream gives full power.
func (s *Supervisor) tokenController(ctx context.Context, c app.ControllerContext) (app.Controller, error) {
	sa := c.ComponentConfig.SAController
	if sa.ServiceAccountKeyFile == "" {
		klog.FromContext(ctx).Info("there is no private key to sign tokens with")
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
	client, err := kubernetes.NewForConfig(Observed(throughGate(rest.AddUserAgent(s.cfg.Connect(manager()), "tokens-controller"), u.currentGate()), u.by))
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
	return loop{names.ServiceAccountTokenController, func(ctx context.Context) {
		tokens.Run(ctx, int(sa.ConcurrentSATokenSyncs))
	}}, nil
}

// loop makes a controller of a function that blocks until its context ends.
type loop struct {
	name string
	run  func(context.Context)
}

func (l loop) Name() string            { return l.name }
func (l loop) Run(ctx context.Context) { l.run(ctx) }
