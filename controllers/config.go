package controllers

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/config"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"
	nodeipamconfig "k8s.io/kubernetes/pkg/controller/nodeipam/config"

	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/internal/oneline"
	"github.com/ctrlplane/ctrlplane/internal/upstreamflags"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Config is the configuration of a Supervisor.
type Config struct {
	// List selects the controllers, in upstream's syntax; nil = DefaultList.
	List []string
	// Args are additional flags of kube-controller-manager, as name=value.
	Args []string

	// Extra are controllers that upstream does not have.
	Extra []ExtraController
	// Others are what else acts and is observed: not controllers, but users may take them for some. The values say what to
	// use in place of an intervention.
	Others map[string]string

	// CACert and CAKey are the files of the certificate authority that signs
	// certificate requests, and that is published in every namespace.
	CACert, CAKey string
	// ServiceAccountKey is the file of the key that signs legacy token Secrets.
	ServiceAccountKey string
	// PodCIDR is the range that nodes get their Pod ranges from; ServiceCIDR is
	// excluded from it.
	PodCIDR, ServiceCIDR string

	// Standby is set if another process may hold the lease: until the controllers
	// are started, they do not delay readiness.
	Standby bool
	// SingleAPIServer is set if no other API server uses the same storage.
	SingleAPIServer bool

	// Logger receives the logs of all controllers, with the name of each.
	Logger *slog.Logger

	// Recorder returns the recorder of a controller; nil = nothing is recorded.
	Recorder func(controller string) *observe.Recorder

	// OnNode is called for each Node that exists or changes while the controllers'
	// informers run, one call after the other; nil = it is not called.
	OnNode func(*corev1.Node)

	// Connect returns a client configuration that acts as the given user.
	Connect func(who user.Info) *rest.Config

	// Lent returns informers of Pods and of Nodes that another part of the process runs
	// for longer than the controllers, and whose objects have no managed fields. It may
	// wait. nil, or nil results, mean that the controllers have their own.
	Lent func() (pods, nodes cache.SharedIndexInformer)

	// OnUnlisted is called with the reasons if kinds cannot be listed when the controllers start, before ctx ends: those that need
	// them wait. nil = it is not called.
	OnUnlisted func(ctx context.Context, why string)

	// CountsJobs reports, while the API server serves, whether Jobs are kept in an informer even if no controller needs one,
	// for Informer; nil = they are not. Nothing waits for that informer.
	CountsJobs func() bool

	// Pace slows down the syncs of all controllers; nil = never.
	Pace *intervene.Pace
}

// ownedFlags are upstream's flags that have no effect within one process, or that a flag of
// ctrlplane sets.
var ownedFlags = upstreamflags.Owned{
	Sections: map[string]string{
		"secure serving":   "its endpoints are served by the API server",
		"authentication":   "its endpoints are served by the API server",
		"authorization":    "its endpoints are served by the API server",
		"debugging":        "use --kube-apiserver-arg: the API server serves the profiles of the process",
		"metrics":          "use --kube-apiserver-arg: the process has one registry of metrics",
		"logs":             "use --log-level, --log-format and -v",
		"leader-migration": "controllers stay in this process",
	},
	Flags: map[string]string{
		"controllers":                     "use --controllers",
		"feature-gates":                   "use --feature-gates",
		"emulated-version":                "use --kubernetes",
		"min-compatibility-version":       "use --kube-apiserver-arg: the process has one set of gates and versions",
		"kubeconfig":                      "controllers call the API server inside the process",
		"master":                          "controllers call the API server inside the process",
		"kube-api-burst":                  "calls inside the process have no rate limit",
		"kube-api-content-type":           "controllers call the API server inside the process",
		"kube-api-qps":                    "calls inside the process have no rate limit",
		"use-service-account-credentials": "each controller has an identity of its own",
		"controller-start-interval":       "all controllers start at the same time",
		"controller-shutdown-timeout":     "a stop waits for each controller, for at most 10 s",
		"leader-elect":                    "use --leader-elect",
	},
}

// sharedInformersName is the name under which calls of the shared informers are recorded.
const sharedInformersName = "shared-informers"

func (c Config) recorderFor(name string) *observe.Recorder {
	if c.Recorder == nil {
		return nil
	}
	return c.Recorder(name)
}

// checkPodCIDR fails for ranges that cannot be divided into the nodes' ranges: the
// controller that does so would end the process.
func checkPodCIDR(list string, c nodeipamconfig.NodeIPAMControllerConfiguration) error {
	for text := range strings.SplitSeq(list, ",") {
		r, err := netip.ParsePrefix(text)
		if err != nil {
			return usage.Errorf("--pod-cidr %q: not a CIDR: write it like 10.128.0.0/9", text)
		}
		node := int(cmp.Or(c.NodeCIDRMaskSize, c.NodeCIDRMaskSizeIPv4, 24))
		if r.Addr().Is6() {
			node = int(cmp.Or(c.NodeCIDRMaskSize, c.NodeCIDRMaskSizeIPv6, 64))
		}
		switch {
		case r.Bits() > node:
			return usage.Errorf("--pod-cidr %s: smaller than the /%d that each node gets: use a larger range, or smaller ones for the nodes with --kube-controller-manager-arg node-cidr-mask-size=N", r, node)
		case r.Addr().Is6() && node-r.Bits() > maxNodeBits:
			return usage.Errorf("--pod-cidr %s: more than %d bits larger than the /%d that each node gets: use a smaller range", r, maxNodeBits, node)
		}
	}
	return nil
}

// maxNodeBits is the limit of upstream's allocator for IPv6.
const maxNodeBits = 16

// componentConfig returns the options as upstream's configuration.
func (c Config) componentConfig() (*kubectrlmgrconfig.KubeControllerManagerConfiguration, error) {
	o, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, err
	}
	list := c.List
	if list == nil {
		list = slices.Clone(DefaultList)
	}
	if err := checkList(list, c.Extra); err != nil {
		return nil, err
	}
	all, aliases := knownControllers(c.Extra)
	off := app.ControllersDisabledByDefault()
	flags := o.Flags(all, off, aliases) // before the fields below are set: it resets some

	o.Generic.Controllers = list
	o.Generic.LeaderElection.LeaderElect = false
	o.SecureServing.BindPort = 0
	o.KubeCloudShared.UseServiceAccountCredentials = true
	o.KubeCloudShared.AllocateNodeCIDRs = true
	o.KubeCloudShared.ClusterCIDR = c.PodCIDR
	o.NodeIPAMController.ServiceCIDR = c.ServiceCIDR
	o.CSRSigningController.ClusterSigningCertFile = c.CACert
	o.CSRSigningController.ClusterSigningKeyFile = c.CAKey
	o.SAController.RootCAFile = c.CACert
	o.SAController.ServiceAccountKeyFile = c.ServiceAccountKey
	// No kubelet here has plugins. Upstream would create the folder on this machine, and watch it.
	o.PersistentVolumeBinderController.VolumeConfiguration.FlexVolumePluginDir = ""

	if err := upstreamflags.Set("--kube-controller-manager-arg", flags, ownedFlags, c.Args); err != nil {
		return nil, err
	}
	if err := o.Validate(all, off, aliases); err != nil {
		return nil, usage.Errorf("kube-controller-manager: %w", oneline.Error(err))
	}
	var out config.Config
	if err := o.ApplyTo(&out, all, off, aliases); err != nil {
		return nil, fmt.Errorf("kube-controller-manager: %w", err)
	}
	return &out.ComponentConfig, nil
}
