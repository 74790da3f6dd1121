package apiserver

import (
	"context"
	"fmt"
	"net"
	"net/http"

	clientv3 "go.etcd.io/etcd/client/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server/flagz"
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
	"github.com/ctrlplane/ctrlplane/internal/oneline"
	"github.com/ctrlplane/ctrlplane/internal/upstreamflags"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// Config configures an API server. Fields are required unless they say what their
// zero value means.
type Config struct {
	// Handler is set to the server's handler once that is assembled. Clients in this
	// process may call it earlier: their requests wait. If Start fails, the handler
	// answers that the service is unavailable.
	Handler *loopback.DeferredHandler
	// Listener accepts the connections of clients outside this process. The server
	// closes it.
	Listener net.Listener
	// Etcd is the storage.
	Etcd Etcd
	// PKI holds the certificates and keys to serve, authenticate and sign with.
	PKI *pki.Bundle
	// ServiceCIDR is the range of the cluster IPs of Services.
	ServiceCIDR string
	// RuntimeConfig is upstream's --runtime-config; empty = upstream's defaults.
	RuntimeConfig string
	// FeatureGates is upstream's --feature-gates; empty = upstream's defaults.
	FeatureGates string
	// EmulatedVersion is upstream's --emulated-version, as 1.35; empty = none. It belongs
	// to the process, like feature gates.
	EmulatedVersion string
	// Args are additional flags of kube-apiserver, as name=value.
	Args []string
	// ReadyChecks are health checks of other parts of the process that /readyz
	// includes, LiveChecks those that /livez and /healthz include.
	ReadyChecks, LiveChecks []healthz.HealthChecker
	// DialKubelet connects to kubelets; nil = by the network.
	DialKubelet KubeletDialer
	// DialService connects to the servers of webhooks and aggregated APIs; nil = by the network.
	DialService ServiceDialer
	// DialPod connects to Pods for the proxy subresources; nil = by the network.
	DialPod PodDialer
	// LocalAPIs are API groups that this process serves beside upstream's.
	LocalAPIs []LocalAPI
	// Grants are roles that the server creates and maintains beside upstream's.
	Grants []Grant
	// Outside handles the requests from outside of this process; nil = all are passed on.
	Outside OutsideHandler
	// IsLongRunning reports whether a request may take longer than upstream allows; nil = as
	// upstream decides.
	IsLongRunning func(*http.Request) bool
	// Loan receives informers that the server lends; nil = none. The caller closes it if
	// Start fails.
	Loan *InformerLoan
}

// Grant is a role and the binding that grants it.
type Grant struct {
	Role    rbacv1.ClusterRole
	Binding rbacv1.ClusterRoleBinding
}

// Etcd describes how the API server reaches its storage.
type Etcd struct {
	Endpoints                 []string
	CAFile, CertFile, KeyFile string
	// Connect returns a client of an etcd in this process; nil = connect to Endpoints.
	Connect func() (*clientv3.Client, error)
	// CaughtUp reports whether that etcd has no other members, and has applied all that is
	// committed: reads need no agreement then. It is called after Connect has returned;
	// nil = reads always need it.
	CaughtUp func() bool
	// StartedEmpty reports whether the storage was empty before this start. It is
	// called after Connect has returned; nil = unknown.
	StartedEmpty func() bool
}

func (e Etcd) startedEmptyFunc() func() bool {
	if e.StartedEmpty == nil {
		return func() bool { return false }
	}
	return e.StartedEmpty
}

// serverRunOptions translates the configuration into kube-apiserver's options.
func (c Config) serverRunOptions() (*options.ServerRunOptions, error) {
	o := options.NewServerRunOptions()
	flags := o.Flags() // first, because it may reset fields
	o.Flagz = flagz.NamedFlagSetsReader{FlagSets: flags}
	addr, ok := c.Listener.Addr().(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("apiserver: the listener on %v is not a TCP listener", c.Listener.Addr())
	}
	o.SecureServing.Listener = c.Listener
	o.SecureServing.BindAddress = addr.IP
	o.SecureServing.BindPort = addr.Port
	o.SecureServing.ServerCert.CertKey = genericoptions.CertKey{CertFile: c.PKI.ServingCert, KeyFile: c.PKI.ServingKey}
	o.GenericServerRunOptions.AdvertiseAddress = advertisedAddress(addr.IP)
	if o.GenericServerRunOptions.AdvertiseAddress.IsLoopback() {
		// Endpoints cannot hold a loopback address.
		o.EndpointReconcilerType = string(reconcilers.NoneEndpointReconcilerType)
	}

	// With the default of one worker, controllers react to each deletion before the
	// next one.
	o.Etcd.DeleteCollectionWorkers = 32
	// A watch cache reduces the number of watches of a remote etcd. A watch of an etcd
	// in this process is cheap, and most kinds have one only: that of the informer that
	// all controllers share.
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

	// kubeadm's settings.
	o.KubeletConfig.PreferredAddressTypes = []string{"InternalIP", "ExternalIP", "Hostname"}
	o.Authorization.Modes = []string{modes.ModeNode, modes.ModeRBAC}
	o.Admission.GenericAdmission.EnablePlugins = []string{"NodeRestriction"}
	o.AllowPrivileged = true
	o.ServiceClusterIPRanges = c.ServiceCIDR

	return o, c.setFlags(o, flags)
}

// advertisedAddress returns the address that the server has for clients when it listens on
// the given one. Upstream would replace a loopback address by that of another interface,
// and fail on a machine without a default route, such as a container without a network.
func advertisedAddress(listening net.IP) net.IP {
	if !listening.IsUnspecified() {
		return listening
	}
	if chosen, err := utilnet.ChooseHostInterface(); err == nil {
		return chosen
	}
	return net.IPv4(127, 0, 0, 1)
}

// ownedFlags are the flags of kube-apiserver that flags of this program replace.
var ownedFlags = upstreamflags.Owned{
	Sections: map[string]string{"logs": "use --log-level, --log-format and -v"},
	Flags: map[string]string{
		"bind-address":             "use --bind-address",
		"secure-port":              "use --port",
		"emulated-version":         "use --kubernetes",
		"etcd-servers":             "use --etcd-endpoints",
		"etcd-cafile":              "use --etcd-cafile",
		"etcd-certfile":            "use --etcd-certfile",
		"etcd-keyfile":             "use --etcd-keyfile",
		"feature-gates":            "use --feature-gates",
		"runtime-config":           "use --runtime-config",
		"service-cluster-ip-range": "use --service-cidr",
		"shutdown-delay-duration":  "a stop would take longer than it may: leave it out",
	},
}

func (c Config) setFlags(o *options.ServerRunOptions, flags cliflag.NamedFlagSets) error {
	for name, value := range map[string]string{"runtime-config": c.RuntimeConfig, "emulated-version": c.EmulatedVersion} {
		if err := setOwnFlag(flags, name, value); err != nil {
			return err
		}
	}
	if err := upstreamflags.Set("--kube-apiserver-arg", flags, ownedFlags, c.Args); err != nil {
		return err
	}
	if c.Etcd.Connect != nil && len(o.Etcd.EtcdServersOverrides) > 0 {
		return usage.Errorf("--kube-apiserver-arg etcd-servers-overrides: the embedded etcd stores all kinds: use it with --etcd-endpoints")
	}
	registry := o.GenericServerRunOptions.ComponentGlobalsRegistry
	if err := setFeatureGates(registry, flags, c.FeatureGates); err != nil {
		return usage.Errorf("--feature-gates: %w", err)
	}
	return decodeWatchesSerially(registry, o.Etcd.EnableWatchCache)
}

func setOwnFlag(flags cliflag.NamedFlagSets, name, value string) error {
	if value == "" {
		return nil
	}
	return upstreamflags.Set("--"+name, flags, upstreamflags.Owned{}, []string{name + "=" + value})
}

// CheckFlags validates FeatureGates, RuntimeConfig and Args without the rest of the
// configuration. It sets the feature gates of the process.
func (c Config) CheckFlags() error {
	o := options.NewServerRunOptions()
	if err := c.setFlags(o, o.Flags()); err != nil {
		return err
	}
	errs := o.APIEnablement.Validate(legacyscheme.Scheme, apiextensionsapiserver.Scheme, aggregatorscheme.Scheme)
	if len(errs) > 0 {
		return usage.Errorf("--runtime-config: %w", oneline.Join(errs...))
	}
	return nil
}

// completeOptions completes and validates the options.
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
		return options.CompletedOptions{}, usage.Errorf("kube-apiserver: %w", oneline.Join(errs...))
	}
	recordVersions(completed.GenericServerRunOptions.ComponentGlobalsRegistry)
	return completed, nil
}

// newUpstreamConfig returns upstream's configuration with the changes that a single
// process needs: requests of clients in the process are authenticated, kubelets may be
// in the process, and the bootstrap policy is created without delay.
func (c Config) newUpstreamConfig(o options.CompletedOptions) (*app.Config, error) {
	config, err := app.NewConfig(o)
	if err != nil {
		return nil, err
	}
	// Both hooks sleep for a second before their first attempt.
	// reconcileBootstrapPolicy replaces them.
	config.KubeAPIs.ControlPlane.Generic.DisabledPostStartHooks.Insert(rbacrest.PostStartHookName, schedulingrest.PostStartHookName)

	pollCertificates(config)
	if c.DialKubelet != nil {
		setKubeletDialer(config.KubeAPIs, c.DialKubelet)
	}
	network := networkDialer(config.KubeAPIs.ControlPlane.ProxyTransport)
	if c.DialService != nil {
		setServiceDialer(config.KubeAPIs, c.DialService)
	}
	if c.DialPod != nil {
		setPodDialer(config.KubeAPIs, network, c.DialPod)
	}

	if !o.Etcd.EnableWatchCache {
		shareWatches(config)
	}
	front := config.Aggregator.GenericConfig
	authenticator := front.Authentication.Authenticator
	if !o.Authentication.Anonymous.FlagsSet && o.Authentication.AuthenticationConfigFile == "" {
		authenticator = restrictAnonymousToHealth(authenticator)
	}
	front.Authentication.Authenticator = loopback.Authenticator(authenticator)
	front.ReadyzChecks = append(front.ReadyzChecks, c.ReadyChecks...)
	front.LivezChecks = append(front.LivezChecks, c.LiveChecks...)
	front.HealthzChecks = append(front.HealthzChecks, c.LiveChecks...)
	return config, nil
}
