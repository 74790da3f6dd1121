package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/logfile"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/sim/cloud"
	"github.com/ctrlplane/ctrlplane/ui"
)

// upCommand is what the flags of "ctrlplane up" say.
type upCommand struct {
	target       *target
	server       ctrlplane.Server
	ephemeral    bool
	address      string
	port         int
	merge        bool
	from         string
	ui           string
	showsTimings bool
	logFile      string
	logLevel     string
	logFormat    string
	verbosity    int
}

func newUpCommand(t *target) *cobra.Command {
	u := &upCommand{target: t}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a control plane and serve until interrupted",
		Long: `Start etcd, the API server, the controllers, the scheduler and simulated nodes
in this process, and serve until interrupted. Started again, it is the same
cluster: same objects, same certificates, same port. Pods become Running and
Ready as they would on a kubelet, but no container is started.

Clients come in over HTTPS on a loopback address, with the kubeconfig that is
written into the data folder.`,
		Example: `  ctrlplane up
  ctrlplane up --name demo --merge-kubeconfig
  ctrlplane up --ephemeral -f manifests/
  ctrlplane up --nodes 5 --node-zones 3 --node-cpu 8
  ctrlplane up --nodes 0 --no-scheduler
  ctrlplane up --controllers='*,-cronjob-controller' --feature-gates=AllAlpha=true
  ctrlplane up --kube-controller-manager-arg node-monitor-grace-period=10s`,
		Args: rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return u.run(cmd.Context()) },
	}
	u.addFlags(cmd)
	cmd.Flags().BoolVar(&u.merge, "merge-kubeconfig", false, "merge a context into your own kubeconfig and make it current")
	cmd.Flags().StringVar(&u.ui, "ui", "auto", uiFlagHelp)
	return cmd
}

// addFlags are those that "ctrlplane run" has, too.
func (u *upCommand) addFlags(cmd *cobra.Command) {
	f, s := cmd.Flags(), &u.server
	f.BoolVar(&u.ephemeral, "ephemeral", false, "keep everything in a temporary folder, without fsync, and leave nothing behind")
	f.StringVar(&u.address, "bind-address", "127.0.0.1", "address for clients; one that is no loopback lets the network in")
	f.IntVar(&u.port, "port", 0, "port for clients (default: the same as last time, or a free one)")
	f.StringSliceVar(&s.Hosts, "host", nil, "further name or address that the serving certificate covers (repeatable)")
	f.StringVar(&u.from, "from", "", "snapshot that a new control plane starts from")
	f.StringArrayVarP(&s.Manifests, "manifests", "f", nil, "file or folder of manifests to apply once ready (repeatable)")
	f.StringSliceVar(&s.Controllers.Select, "controllers", nil, `controllers to run: "*", "name", "-name" (default: all that kubeadm turns on)`)
	f.StringVar(&s.APIServer.FeatureGates, "feature-gates", "", "feature gates, as Name=true|false,…")
	f.StringVar(&s.APIServer.RuntimeConfig, "runtime-config", "", "APIs to turn on or off, as group/version=true|false,…")
	f.StringArrayVar(&s.APIServer.Args, "kube-apiserver-arg", nil, "further flag of kube-apiserver, as name=value (repeatable)")
	f.StringArrayVar(&s.Controllers.Args, "kube-controller-manager-arg", nil, "further flag of kube-controller-manager, as name=value (repeatable)")
	f.IntVar(&s.Nodes.Count, "nodes", 1, "simulated nodes that Pods run on; 0 = none")
	f.StringVar(&s.Nodes.CPU, "node-cpu", "", "CPU of each (default 32)")
	f.StringVar(&s.Nodes.Memory, "node-memory", "", "memory of each (default 256Gi)")
	f.IntVar(&s.Nodes.Pods, "node-pods", 0, "Pods that each takes (default 110)")
	f.StringSliceVar(&s.Nodes.Labels, "node-label", nil, "further label of each, as key=value (repeatable)")
	f.StringSliceVar(&s.Nodes.Taints, "node-taint", nil, "taint of each, as key=value:Effect (repeatable)")
	f.IntVar(&s.Nodes.Zones, "node-zones", 0, "zones that they spread over (default 1)")
	f.BoolVar(&s.Scheduler.Disabled, "no-scheduler", false, "run no scheduler")
	f.StringVar(&s.Scheduler.ConfigFile, "scheduler-config", "", "file with a KubeSchedulerConfiguration")
	f.StringArrayVar(&s.Scheduler.Args, "kube-scheduler-arg", nil, "further flag of kube-scheduler, as name=value (repeatable)")
	f.StringVar(&s.Network.LoadBalancerRange, "load-balancer-range", "", "CIDRs that Services of type LoadBalancer get addresses from (default "+cloud.DefaultRanges+")")
	f.BoolVar(&s.Nodes.NoMetrics, "no-metrics", false, "do not serve metrics.k8s.io for simulated nodes and Pods")
	f.StringVar(&s.Network.ServiceCIDR, "service-cidr", "", "range of Service addresses (default 10.96.0.0/12)")
	f.StringVar(&s.Network.PodCIDR, "pod-cidr", "", "range that nodes get their Pod ranges from (default 10.128.0.0/9)")
	f.StringSliceVar(&s.Etcd.Endpoints, "etcd-endpoints", nil, "URLs of an etcd cluster to use in place of the embedded one")
	f.StringVar(&s.Etcd.CAFile, "etcd-cafile", "", "CA of that cluster")
	f.StringVar(&s.Etcd.CertFile, "etcd-certfile", "", "client certificate for that cluster")
	f.StringVar(&s.Etcd.KeyFile, "etcd-keyfile", "", "client key for that cluster")
	f.BoolVar(&s.Controllers.LeaderElect, "leader-elect", false, "run the controllers in one only of the processes that share an etcd cluster")
	f.IntVar(&s.Observe.Records, "observe-records", observe.DefaultRecords, "how many records of what happened to keep; -1 turns observation off")
	f.BoolVar(&u.showsTimings, "timings", false, "once ready, say where the time of the start went (run: on stderr)")
	f.StringVar(&u.logFile, "log-file", "", "where all components log (default: ctrlplane.log in the data folder)")
	f.StringVar(&u.logLevel, "log-level", "info", "least severe level to log: debug, info, warn or error")
	f.StringVar(&u.logFormat, "log-format", "text", "format of the log: text or json")
	f.IntVarP(&u.verbosity, "v", "v", 0, "verbosity of Kubernetes' own logs, as its -v")
}

// prepareServer checks the flags and makes a Server's fields of them.
func (u *upCommand) prepareServer() error {
	s := &u.server
	if u.ephemeral && u.target.dataDir != "" {
		return usage.Errorf("--ephemeral keeps nothing, --data-dir says where to keep it: use one of them")
	}
	path, err := u.target.dataDirPath()
	if err != nil {
		return err
	}
	if !u.ephemeral {
		s.Dir = path
	}
	if net.ParseIP(u.address) == nil {
		return usage.Errorf("--bind-address: %q is no IP address", u.address)
	}
	if u.port < 0 || u.port > 65535 {
		return usage.Errorf("--port: %d is not between 0 and 65535", u.port)
	}
	if len(s.Etcd.Endpoints) == 0 && s.Etcd.CAFile+s.Etcd.CertFile+s.Etcd.KeyFile != "" {
		return usage.Errorf("--etcd-cafile, --etcd-certfile and --etcd-keyfile are for --etcd-endpoints, which is not given")
	}
	if (s.Etcd.CertFile == "") != (s.Etcd.KeyFile == "") {
		return usage.Errorf("--etcd-certfile and --etcd-keyfile go together: give both or none")
	}
	if u.from != "" {
		store, err := snapshot.UserStore()
		if err != nil {
			return err
		}
		if _, err := store.Load(u.from); err != nil {
			return fmt.Errorf("--from: %w", err)
		}
		s.FromSnapshot = store.Path(u.from)
	}
	s.Listen = net.JoinHostPort(u.address, strconv.Itoa(u.port))
	s.Name = u.target.clusterName()
	if u.ephemeral && u.target.name == "default" {
		s.Name = "ctrlplane-ephemeral"
	}
	return u.prepareLog()
}

func (u *upCommand) prepareLog() error {
	level, err := logfile.ParseLevel(u.logLevel)
	if err != nil {
		return usage.Errorf("--log-level: %w", err)
	}
	format, err := logfile.ParseFormat(u.logFormat)
	if err != nil {
		return usage.Errorf("--log-format: %w", err)
	}
	u.server.Log = &logfile.Config{Path: u.logFile, Level: level, Format: format, Verbosity: u.verbosity}
	return nil
}

func (u *upCommand) run(ctx context.Context) error {
	if err := u.prepareServer(); err != nil {
		return err
	}
	if u.merge {
		if err := checkUserKubeconfig(); err != nil {
			return err
		}
	}
	l, err := parseViewMode(u.ui)
	if err != nil {
		return err
	}
	// The control plane itself is not told apart in JSON: its lines are the records'.
	screen, mode := io.Writer(os.Stdout), ui.Mode{}
	switch l {
	case viewLive:
		mode = ui.Detect(os.Stdout, os.Environ())
	case viewJSON, viewNone:
		screen = io.Discard
	}
	progress := ui.NewProgress(screen, mode)
	defer progress.Close() // what it may say, that the screen is gone, helps nobody
	if !net.ParseIP(u.address).IsLoopback() {
		progress.Warn(fmt.Sprintf("%s is no loopback address: whoever reaches it can try to log in", u.address))
	}
	v := &session{up: u, view: l, progress: progress, mode: mode}
	if u.showsTimings {
		v.ready = func() error { return u.showTimings(ctx, v) }
	}
	return u.serve(ctx, v)
}
