package apiserver

import (
	"context"
	"fmt"
	"net"

	clientv3 "go.etcd.io/etcd/client/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiserver/pkg/server/healthz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	cliflag "k8s.io/component-base/cli/flag"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/controlplane/reconcilers"
	"k8s.io/kubernetes/pkg/kubeapiserver/authorizer/modes"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"
	schedulingrest "k8s.io/kubernetes/pkg/registry/scheduling/rest"

	"github.com/ctrlplane/ctrlplane/apiserver/loopback"
	"github.com/ctrlplane/ctrlplane/apiserver/pki"
	"github.com/ctrlplane/ctrlplane/internal/upstreamflags"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// Config says what Start assembles.
type Config struct {
	// Handler becomes the server's handler once it is assembled, or one that says
	// that the service is unavailable; whoever calls from inside may begin to sooner.
	Handler *loopback.DeferredHandler
	// Listener accepts the clients from outside the process; Start owns it.
	Listener net.Listener
	// Etcd is where the state is kept.
	Etcd Etcd
	// PKI holds the certificates and keys to serve, authenticate and sign with.
	PKI *pki.Bundle
	// ServiceCIDR is the range of Service cluster IPs.
	ServiceCIDR string
	// RuntimeConfig is upstream's --runtime-config; empty = upstream's defaults.
	RuntimeConfig string
	// FeatureGates is upstream's --feature-gates; empty = upstream's defaults.
	FeatureGates string
	// Args are further flags of kube-apiserver, as name=value.
	Args []string
	// ReadyChecks and Alive are checks of other parts of the process, served by
	// /readyz, and by /livez and /healthz.
	ReadyChecks, LiveChecks []healthz.HealthChecker
	// DialKubelet replaces the network on the way to kubelets, if not nil.
	DialKubelet KubeletDialer
	// LocalAPIs are API groups that this process serves beside upstream's.
	LocalAPIs []LocalAPI
	// Grants are roles and who has them, kept beside those of upstream.
	Grants []Grant
}

// Grant is a role and who has it.
type Grant struct {
	Role    rbacv1.ClusterRole
	Binding rbacv1.ClusterRoleBinding
}

// Etcd says how the API server reaches its storage.
type Etcd struct {
	Endpoints                 []string
	CAFile, CertFile, KeyFile string
	// Connect replaces the network, if not nil.
	Connect func() (*clientv3.Client, error)
	// StartedEmpty tells, once Connect has returned, whether nothing was in it before this
	// start; nil = unknown.
	StartedEmpty func() bool
}

func (e Etcd) startedEmptyFunc() func() bool {
	if e.StartedEmpty == nil {
		return func() bool { return false }
	}
	return e.StartedEmpty
}

// serverRunOptions is the only place that knows the names of kube-apiserver's options.
func (c Config) serverRunOptions() (*options.ServerRunOptions, error) {
	o := options.NewServerRunOptions()
	flags := o.Flags() // before the fields below: it may reset some
	addr, ok := c.Listener.Addr().(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("apiserver: listener on %v is not TCP", c.Listener.Addr())
	}
	o.SecureServing.Listener = c.Listener
	o.SecureServing.BindAddress = addr.IP
	o.SecureServing.BindPort = addr.Port
	o.SecureServing.ServerCert.CertKey = genericoptions.CertKey{CertFile: c.PKI.ServingCert, KeyFile: c.PKI.ServingKey}
	// Upstream looks for another interface when this one is a loopback, and
	// fails on a machine that has none.
	o.GenericServerRunOptions.AdvertiseAddress = addr.IP
	if addr.IP.IsLoopback() {
		// Endpoints cannot hold a loopback address.
		o.EndpointReconcilerType = string(reconcilers.NoneEndpointReconcilerType)
	} else if addr.IP.IsUnspecified() {
		o.GenericServerRunOptions.AdvertiseAddress = nil
	}

	// One at a time leaves the owners of what is deleted the time to take note of
	// each.
	o.Etcd.DeleteCollectionWorkers = 32
	// A watch cache spares an etcd that is far away many watchers. One in this process
	// is near, and most kinds are watched once: by the informer that all controllers
	// share.
	o.Etcd.EnableWatchCache = c.Etcd.Connect == nil
	transport := &o.Etcd.StorageConfig.Transport
	transport.ServerList = c.Etcd.Endpoints
	transport.TrustedCAFile, transport.CertFile, transport.KeyFile = c.Etcd.CAFile, c.Etcd.CertFile, c.Etcd.KeyFile

	o.Authentication.ClientCert.ClientCA = c.PKI.CACert
	o.Authentication.RequestHeader.ClientCAFile = c.PKI.FrontProxyCACert
	o.Authentication.RequestHeader.AllowedNames = []string{"front-proxy-client"}
	o.Authentication.RequestHeader.UsernameHeaders = []string{"X-Remote-User"}
	o.Authentication.RequestHeader.UIDHeaders = []string{"X-Remote-Uid"}
	o.Authentication.RequestHeader.GroupHeaders = []string{"X-Remote-Group"}
	o.Authentication.RequestHeader.ExtraHeaderPrefixes = []string{"X-Remote-Extra-"}
	o.Authentication.BootstrapToken.Enable = true
	o.Authentication.ServiceAccounts.Issuers = []string{"https://kubernetes.default.svc.cluster.local"}
	o.Authentication.ServiceAccounts.KeyFiles = []string{c.PKI.ServiceAccountPub}
	o.ServiceAccountSigningKeyFile = c.PKI.ServiceAccountKey
	o.ProxyClientCertFile = c.PKI.FrontProxyClientCert
	o.ProxyClientKeyFile = c.PKI.FrontProxyClientKey
	o.KubeletConfig.TLSClientConfig.CertFile = c.PKI.KubeletClientCert
	o.KubeletConfig.TLSClientConfig.KeyFile = c.PKI.KubeletClientKey

	// As kubeadm sets them up.
	o.KubeletConfig.PreferredAddressTypes = []string{"InternalIP", "ExternalIP", "Hostname"}
	o.Authorization.Modes = []string{modes.ModeNode, modes.ModeRBAC}
	o.Admission.GenericAdmission.EnablePlugins = []string{"NodeRestriction"}
	o.AllowPrivileged = true
	o.ServiceClusterIPRanges = c.ServiceCIDR

	return o, c.setFlags(o, flags)
}

// ownedFlags are the upstream flags that a flag of ours sets, with what to use instead.
var ownedFlags = map[string]string{
	"bind-address":             "use --bind-address",
	"secure-port":              "use --port",
	"etcd-servers":             "use --etcd-endpoints",
	"etcd-cafile":              "use --etcd-cafile",
	"etcd-certfile":            "use --etcd-certfile",
	"etcd-keyfile":             "use --etcd-keyfile",
	"feature-gates":            "use --feature-gates",
	"runtime-config":           "use --runtime-config",
	"service-cluster-ip-range": "use --service-cidr",
}

func (c Config) setFlags(o *options.ServerRunOptions, flags cliflag.NamedFlagSets) error {
	for name, value := range map[string]string{"runtime-config": c.RuntimeConfig, "feature-gates": c.FeatureGates} {
		if value == "" {
			continue
		}
		if err := upstreamflags.Set("--"+name, flags, nil, []string{name + "=" + value}); err != nil {
			return err
		}
	}
	if err := upstreamflags.Set("--kube-apiserver-arg", flags, ownedFlags, c.Args); err != nil {
		return err
	}
	if err := o.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return usage.Errorf("--feature-gates: %w", err)
	}
	return nil
}

// CheckFlags reports what is wrong with the flags alone, and sets the feature
// gates of the process.
func (c Config) CheckFlags() error {
	o := options.NewServerRunOptions()
	if err := c.setFlags(o, o.Flags()); err != nil {
		return err
	}
	errs := o.APIEnablement.Validate(legacyscheme.Scheme, apiextensionsapiserver.Scheme, aggregatorscheme.Scheme)
	if len(errs) > 0 {
		return usage.Errorf("--runtime-config: %w", joinErrors(errs))
	}
	return nil
}

// completeOptions reports what is wrong with the options, before anything is started.
func (c Config) completeOptions(ctx context.Context) (options.CompletedOptions, error) {
	o, err := c.serverRunOptions()
	if err != nil {
		return options.CompletedOptions{}, err
	}
	completed, err := o.Complete(ctx)
	if err != nil {
		return options.CompletedOptions{}, err
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return options.CompletedOptions{}, usage.Errorf("kube-apiserver: %w", joinErrors(errs))
	}
	return completed, nil
}

// newUpstreamConfig builds upstream's configuration and changes in it what only
// one process can know: who calls from inside, and what is done faster.
func (c Config) newUpstreamConfig(o options.CompletedOptions) (*app.Config, error) {
	config, err := app.NewConfig(o)
	if err != nil {
		return nil, err
	}
	// Both sleep a second before their first try; bootstrap does their work at once.
	config.KubeAPIs.ControlPlane.Generic.DisabledPostStartHooks.Insert(rbacrest.PostStartHookName, schedulingrest.PostStartHookName)

	if c.DialKubelet != nil {
		setKubeletDialer(config.KubeAPIs, c.DialKubelet)
	}

	front := config.Aggregator.GenericConfig
	outside := front.Authentication.Authenticator
	if !o.Authentication.Anonymous.FlagsSet && o.Authentication.AuthenticationConfigFile == "" {
		outside = restrictAnonymousToHealth(outside)
	}
	front.Authentication.Authenticator = loopback.Authenticator(outside)
	front.ReadyzChecks = append(front.ReadyzChecks, c.ReadyChecks...)
	front.LivezChecks = append(front.LivezChecks, c.LiveChecks...)
	front.HealthzChecks = append(front.HealthzChecks, c.LiveChecks...)
	return config, nil
}
