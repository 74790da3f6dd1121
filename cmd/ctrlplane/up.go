package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/limitread"
	"github.com/ctrlplane/ctrlplane/internal/logfile"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/sim/cloud"
)

// The names of ephemeral control planes for which none is given.
const (
	nameOfEphemeral = "ephemeral"
	nameOfRun       = "run"
	nameOfDev       = "dev"
)

// ephemeralStarts are the commands that start the control planes of these names.
var ephemeralStarts = map[string]string{
	nameOfEphemeral: "up --ephemeral",
	nameOfRun:       "run -- COMMAND",
	nameOfDev:       "dev -- COMMAND",
}

// upCommand has the flags of "ctrlplane up" and the server that they configure.
type upCommand struct {
	target        *target
	server        ctrlplane.Server
	flags         *pflag.FlagSet
	bare          bool
	ephemeral     bool
	ephemeralName string // of an ephemeral control plane for which no name is given
	address       string
	port          int
	merge         bool
	detach        bool
	from          string
	fromStream    bool // from is a pipe or device
	ui, theme     string
	web           bool
	record        upRecord
	showsTimings  bool
	logFile       string
	logLevel      string
	logFormat     string
	verbosity     int
	manifests     manifestFlags
	account       serviceAccountFlag // of run and dev
}

func newUpCommand(t *target) *cobra.Command {
	u := &upCommand{target: t}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a control plane and serve until interrupted",
		Long: `Start etcd, the API server, the controllers, the scheduler and simulated nodes in
this process, and serve until interrupted. A later start with the same name is the
same cluster: the same objects, certificates and port. Pods become Running and
Ready as on a real kubelet; commands run in a simulated shell.

Clients connect by HTTPS to a loopback address, with the kubeconfig in the data
folder.

With --detach it runs in the background, independent of the terminal, until
"ctrlplane down" or the end of the machine; "ctrlplane logs" prints its log.`,
		Example: `  ctrlplane up
  ctrlplane up -d                     in the background; "ctrlplane down" stops it
  ctrlplane up --name demo --merge-kubeconfig
  ctrlplane up --ephemeral -f manifests/
  ctrlplane up --web                  with a page that shows keys moving between controllers
  ctrlplane up --record today.jsonl   "ctrlplane top --replay today.jsonl" shows it again
  ctrlplane up --nodes 5 --node-zones 3 --node-cpu 8
  ctrlplane up --bare
  ctrlplane up --kubernetes 1.35
  ctrlplane up --controllers='*,-cronjob-controller' --feature-gates=AllAlpha=true
  ctrlplane up --kube-controller-manager-arg node-monitor-grace-period=10s`,
		Args: rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if u.detach && cmd.Flags().Changed("ui") {
				return usage.Errorf("--detach and --ui exclude each other: use one of them, and \"ctrlplane top\" for a view")
			}
			if u.detach && u.web {
				return usage.Errorf("--detach and --web exclude each other: use \"ctrlplane top --web\" once it runs")
			}
			return u.run(cmd.Context())
		},
	}
	u.addFlags(cmd)
	cmd.Flags().BoolVarP(&u.detach, "detach", "d", false, "return when the control plane is ready, and keep it running in the background")
	cmd.Flags().StringVar(&u.server.Kubernetes, "kubernetes", "", kubernetesFlagHelp)
	cmd.Flags().BoolVar(&u.merge, "merge-kubeconfig", false, "merge a context into your own kubeconfig and make it current")
	cmd.Flags().StringVar(&u.ui, "ui", "auto", uiFlagHelp)
	cmd.Flags().StringVar(&u.theme, "theme", "auto", themeFlagHelp)
	u.record.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&u.web, "web", false, "also serve a page for a projector on a loopback address; \"top --web\" has more options")
	return cmd
}

// kubernetesFlagHelp is the help of --kubernetes.
var kubernetesFlagHelp = "minor version of Kubernetes to emulate: " + strings.Join(ctrlplane.KubernetesVersions(), ", ") + " (default: that of the last start, or of ctrlplane)"

// addFlags adds the flags that all verbs share that start a control plane: "up", "run", "dev", and the
// hidden verb of ctrlplanetest. Lessons take them, too.
func (u *upCommand) addFlags(cmd *cobra.Command) {
	f, s := cmd.Flags(), &u.server
	u.flags = f
	f.BoolVar(&u.ephemeral, "ephemeral", false, "keep all data in a temporary folder, without fsync, and remove it at the end")
	f.StringVar(&u.address, "bind-address", "127.0.0.1", "address for clients; other than loopback addresses can be reached from the network")
	f.IntVar(&u.port, "port", 0, "port for clients (default: that of the last start, or a free one)")
	f.StringSliceVar(&s.Hosts, "host", nil, "additional name or address in the serving certificate (repeatable)")
	f.StringVar(&u.from, "from", "", "snapshot that a new control plane starts from: its name, or the path of its file")
	u.manifests.addFlags(f, "manifests", "to apply once ready")
	f.BoolVar(&u.bare, "bare", false, "like envtest, run an API server in which nothing changes the objects of clients; not kept for later starts: sets "+bareFlags)
	f.StringSliceVar(&s.Controllers.Select, "controllers", nil, `controllers to run: "*", "name", "-name" (default: those that kubeadm enables)`)
	f.StringVar(&s.APIServer.FeatureGates, "feature-gates", "", "feature gates, as Name=true|false,…")
	f.StringVar(&s.APIServer.RuntimeConfig, "runtime-config", "", "APIs to enable or disable, as group/version=true|false,…")
	f.StringArrayVar(&s.APIServer.Args, "kube-apiserver-arg", nil, "additional flag of kube-apiserver, as name=value (repeatable)")
	f.StringArrayVar(&s.Controllers.Args, "kube-controller-manager-arg", nil, "additional flag of kube-controller-manager, as name=value (repeatable)")
	f.IntVar(&s.Nodes.Count, "nodes", 1, "number of simulated nodes")
	f.StringVar(&s.Nodes.CPU, "node-cpu", "", "CPU of each simulated node (default 32)")
	f.StringVar(&s.Nodes.Memory, "node-memory", "", "memory of each simulated node (default 256Gi)")
	f.Var(&nonZeroInt{&s.Nodes.Pods, "choose 1 to 100000"}, "node-pods", "maximum number of Pods on each simulated node (default 110)")
	f.StringSliceVar(&s.Nodes.Labels, "node-label", nil, "additional label of each simulated node, as key=value (repeatable)")
	f.StringSliceVar(&s.Nodes.Taints, "node-taint", nil, "taint of each simulated node, as key=value:Effect (repeatable)")
	f.Var(&nonZeroInt{&s.Nodes.Zones, "choose 1 to 26"}, "node-zones", "number of zones of the simulated nodes (default 1)")
	f.BoolVar(&s.Scheduler.Disabled, "no-scheduler", false, "run no scheduler")
	f.StringVar(&s.Scheduler.ConfigFile, "scheduler-config", "", "file with a KubeSchedulerConfiguration")
	f.StringArrayVar(&s.Scheduler.Args, "kube-scheduler-arg", nil, "additional flag of kube-scheduler, as name=value (repeatable)")
	f.StringVar(&s.Network.LoadBalancerRange, "load-balancer-range", "", "CIDRs for the addresses of Services of type LoadBalancer (default "+cloud.DefaultRanges+")")
	f.BoolVar(&s.Nodes.NoMetrics, "no-metrics", false, "do not serve metrics.k8s.io for simulated nodes and Pods")
	f.StringVar(&s.Network.ServiceCIDR, "service-cidr", "", "CIDR of Service addresses (default 10.96.0.0/12)")
	f.StringVar(&s.Network.PodCIDR, "pod-cidr", "", "CIDR that the nodes' Pod CIDRs are taken from (default 10.128.0.0/9)")
	f.StringSliceVar(&s.Etcd.Endpoints, "etcd-endpoints", nil, "URLs of an etcd cluster to use instead of the embedded member")
	f.StringVar(&s.Etcd.CAFile, "etcd-cafile", "", "CA file of the etcd cluster of --etcd-endpoints")
	f.StringVar(&s.Etcd.CertFile, "etcd-certfile", "", "client certificate file for the etcd cluster of --etcd-endpoints")
	f.StringVar(&s.Etcd.KeyFile, "etcd-keyfile", "", "client key file for the etcd cluster of --etcd-endpoints")
	f.BoolVar(&s.Controllers.LeaderElect, "leader-elect", false, "run the controllers in only one of the processes that share an etcd cluster")
	f.StringArrayVar(&s.Observe.With, "with", nil, "show the work queues of another process, too: the URL of its metrics, or PROGRAM=URL to join them with the client of that program (repeatable)")
	s.Observe.Records = observe.DefaultRecords
	f.Var(&nonZeroInt{&s.Observe.Records, "use 1 or more, or -1 to turn observation off"}, "observe-records", "number of records of events, calls and syncs to keep; -1 turns observation off")
	f.BoolVar(&u.showsTimings, "timings", false, "once ready, show how long each part of the start took (run: on stderr)")
	f.StringVar(&u.logFile, "log-file", "", "log file of all components (default: ctrlplane.log in the data folder)")
	f.StringVar(&u.logLevel, "log-level", "info", "least severe level to log: debug, info, warn or error")
	f.StringVar(&u.logFormat, "log-format", "text", "format of the log: text or json")
	f.IntVarP(&u.verbosity, "v", "v", 0, "verbosity of the Kubernetes components' logs")
}

// bareFlags are what --bare stands for.
const bareFlags = "--controllers=namespace, --no-scheduler, --nodes=0, --no-metrics and --kube-apiserver-arg disable-admission-plugins=ServiceAccount"

// makeBare sets what bareFlags says. A flag that is given takes precedence, but the plugin is disabled in any case.
func (u *upCommand) makeBare() {
	s := &u.server
	if !u.flags.Changed("controllers") {
		s.Controllers.Select = []string{"namespace"}
	}
	if !u.flags.Changed("no-scheduler") {
		s.Scheduler.Disabled = true
	}
	if !u.flags.Changed("nodes") {
		s.Nodes.Count = 0
	}
	if !u.flags.Changed("no-metrics") {
		s.Nodes.NoMetrics = true
	}
	s.APIServer.Args = append(s.APIServer.Args, "disable-admission-plugins=ServiceAccount") // upstream joins several
}

// prepareServer validates the flags and sets the server's fields from them.
func (u *upCommand) prepareServer(ctx context.Context) error {
	s := &u.server
	if u.bare {
		u.makeBare()
	}
	if u.ephemeral && u.target.dataDir != "" {
		return usage.Errorf("--ephemeral and --data-dir exclude each other: use one of them")
	}
	path, err := u.target.dataDirPath()
	if err != nil && !(u.ephemeral && datadir.IsStateFolderError(err)) {
		return err
	}
	if !u.ephemeral {
		s.Dir = path
	}
	if err := datadir.CheckListSeparator(s.Dir); err != nil {
		return err
	}
	if err := u.validateFlags(); err != nil {
		return err
	}
	if err := u.prepareFrom(ctx); err != nil {
		return err
	}
	s.Listen = net.JoinHostPort(u.address, strconv.Itoa(u.port))
	s.Name = u.target.name
	if u.ephemeral && !u.target.named() {
		s.Name = cmp.Or(u.ephemeralName, nameOfEphemeral)
	}
	return u.prepareLog()
}

// prepareFrom checks the snapshot of --from. A pipe is left to readInputs, because the process
// that serves may be another one.
func (u *upCommand) prepareFrom(ctx context.Context) error {
	if u.from == "" {
		return nil
	}
	store := snapshot.UserStore()
	if u.fromStream = limitread.IsStream(store.Path(u.from)); u.fromStream {
		return nil
	}
	if _, err := store.Load(ctx, u.from); err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	u.server.FromSnapshot = store.Path(u.from)
	return nil
}

// readInputs reads what the control plane starts with and can be read only once.
func (u *upCommand) readInputs(ctx context.Context) (err error) {
	s := &u.server
	if s.Manifests, s.ManifestTexts, err = u.manifests.resolve(ctx); err != nil || !u.fromStream {
		return err
	}
	store := snapshot.UserStore()
	if s.FromSnapshotData, err = store.Load(ctx, u.from); err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	return nil
}

// validateFlags returns an error for a value that no flag may have, and for flags that need
// or exclude each other.
func (u *upCommand) validateFlags() error {
	s := &u.server
	if err := u.manifests.validate(); err != nil {
		return err
	}
	if net.ParseIP(u.address) == nil {
		return usage.Errorf("--bind-address: %q is not an IP address: use one of this machine, such as 127.0.0.1", u.address)
	}
	if s.Observe.Records < -1 {
		return usage.Errorf("--observe-records %d: not a number of records: use 1 or more, or -1 to turn observation off", s.Observe.Records)
	}
	if err := u.record.validate(s.Observe.Records); err != nil {
		return err
	}
	if u.verbosity < 0 {
		return usage.Errorf("-v %d: not a verbosity: use 0 or more", u.verbosity)
	}
	if u.port < 0 || u.port > 65535 {
		return usage.Errorf("--port: %d is not between 0 and 65535: use one that is, or leave the flag out", u.port)
	}
	if len(s.Etcd.Endpoints) == 0 && s.Etcd.CAFile+s.Etcd.CertFile+s.Etcd.KeyFile != "" {
		return usage.Errorf("--etcd-cafile, --etcd-certfile and --etcd-keyfile need --etcd-endpoints: add it, or leave them out")
	}
	if (s.Etcd.CertFile == "") != (s.Etcd.KeyFile == "") {
		return usage.Errorf("--etcd-certfile and --etcd-keyfile need each other: use both or neither")
	}
	return nil
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
	u.server.Log = &ctrlplane.LogConfig{Path: u.logFile, Level: level, Format: format, Verbosity: u.verbosity}
	return nil
}

func (u *upCommand) run(ctx context.Context) error {
	if err := u.prepareServer(ctx); err != nil {
		return err
	}
	if err := u.rejectTakenName(); err != nil {
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
	if err := checkTheme(u.theme); err != nil {
		return err
	}
	if u.detach {
		return u.runDetached(ctx)
	}
	surviveClosedOutput() // until the process ends: main may print an error
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	v, closeDisplay := u.newSession(&watchedStdout{cancel, "use --ui none or --detach"}, l)
	defer closeDisplay()
	return joinLoss(ctx, u.serveShown(ctx, v))
}

// serveShown serves, with the timings if they are due.
func (u *upCommand) serveShown(ctx context.Context, v *session) error {
	if u.showsTimings {
		v.ready = func() error { return u.showTimings(ctx, v) }
	}
	return u.serve(ctx, v)
}
