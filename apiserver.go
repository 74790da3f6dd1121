package ctrlplane

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/apiserver"
	"github.com/ctrlplane/ctrlplane/apiserver/loopback"
	"github.com/ctrlplane/ctrlplane/control"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/controllers"
	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/sim/kubelet"
	"github.com/ctrlplane/ctrlplane/sim/nodes"
	"github.com/ctrlplane/ctrlplane/sim/volumes"
)

func (p *controlPlane) apiServerConfig() apiserver.Config {
	role, binding := volumes.Policy()
	return apiserver.Config{
		Handler:         p.apiHandler,
		PKI:             p.certs,
		ServiceCIDR:     p.serviceCIDR(),
		EmulatedVersion: p.emulatedVersion(),
		FeatureGates:    p.config.APIServer.FeatureGates,
		RuntimeConfig:   p.config.APIServer.RuntimeConfig,
		Args:            p.config.APIServer.Args,
		LocalAPIs:       []apiserver.LocalAPI{metricsAPI(p.config.Nodes.NoMetrics)},
		Grants:          []apiserver.Grant{{Role: role, Binding: binding}},
		ReadyChecks:     p.readyChecks,
		LiveChecks:      p.liveChecks,
		Loan:            p.informerLoan,
	}
}

func (p *controlPlane) startAPIServer(ctx context.Context) (err error) {
	defer p.informerLoan.Close() // after an error: the controllers wait for it
	if p.clients, err = p.newClients(); err != nil {
		return err
	}
	if err := bypassProxy(p.serviceCIDR(), p.podCIDR()); err != nil {
		return err
	}
	cfg := p.apiServerConfig()
	cfg.Outside, cfg.IsLongRunning = p.handleOutside, hasOwnTimeLimit
	if cfg.Listener, err = p.openListener(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			cfg.Listener.Close()
		}
	}()
	close(p.listening)
	if cfg.Etcd, err = p.apiServerEtcd(ctx); err != nil {
		return err
	}
	p.kubelets, err = kubelet.New(kubelet.Config{
		CACert: p.certs.CACert, CAKey: p.certs.CAKey, Commands: p.commands, ExplainLog: nodes.ExplainLog,
		Standby: p.leadership.checkLeader, // not of p, which must not live on with the kubelets
		Program: p.programWord(),
		Logger:  p.log.With("component", controllernames.SimulatedKubelet),
	})
	if err != nil {
		return err
	}
	cfg.DialKubelet, cfg.DialPod, cfg.DialService = p.kubelets.Dialer, p.kubelets.PodDialer, p.kubelets.ServiceDialer
	recorder := p.recorderFor(apiServerName)
	recorder.SkipIdleSyncs()
	recorder.Do(func() { p.api, err = apiserver.Start(ctx, cfg) })
	if err != nil {
		return err
	}
	p.url = "https://" + localAddress(cfg.Listener.Addr())
	return nil
}

func (p *controlPlane) closeAPIServer() error {
	if p.api == nil {
		return nil
	}
	p.clients.Close()
	return p.api.Close()
}

// handleOutside handles a request from outside of the process, before upstream's filters: it notes for a
// reset the state before the first change, and passes the request to clients.Handle.
func (p *controlPlane) handleOutside(w http.ResponseWriter, req *http.Request, who user.Info, next http.Handler) {
	reads := req.Method == http.MethodGet || req.Method == http.MethodHead || req.Method == http.MethodOptions
	if s := p.startState.Load(); s != nil && !reads && who != nil && req.URL.Path != controlrest.ResetPath {
		s.BeforeChange(req.Context())
	}
	if hasOwnTimeLimit(req) {
		next = controlrest.LimitBodies(next)
	}
	p.clients.Handle(w, req, who, next)
}

// hasOwnTimeLimit reports whether a request is for ctrlplane's own API, which limits the time of its requests. Upstream's
// limit would end at the same moment as theirs and break the connection if the handler answers first.
func hasOwnTimeLimit(req *http.Request) bool {
	return strings.HasPrefix(req.URL.Path, controlrest.Path+"/")
}

// waitReady waits until /readyz is green and the nodes take Pods.
func (p *controlPlane) waitReady(ctx context.Context) error {
	if err := p.waitWhileReadable(ctx, p.api.WaitReady); err != nil {
		return err
	}
	return p.waitSchedulable(ctx)
}

// describeReadiness says what keeps the control plane from being ready.
func (p *controlPlane) describeReadiness(ctx context.Context) string {
	reason := p.api.DescribeReadiness(ctx)
	if p.logFile != nil {
		reason += ": look into " + p.logPath()
	}
	return reason
}

// clientConfig returns a client configuration for callers inside the process. Their
// requests wait until the API server is built.
func (p *controlPlane) clientConfig(who user.Info) *rest.Config {
	return loopback.ClientConfig(p.apiHandler, who)
}

func (p *controlPlane) startKubelets(context.Context) error {
	client, err := kubernetes.NewForConfig(p.kubeletClientConfig("kubelet"))
	if err != nil {
		return err
	}
	p.kubelets.Start(client)
	return nil
}

func (p *controlPlane) closeKubelets() error { return p.kubelets.Close() }

// serveControl serves ctrlplane's own API to other processes.
func (p *controlPlane) serveControl(context.Context) error {
	p.snapshots = p.newSnapshotService()
	p.api.Handle(controllers.DebugPath, p.supervisor)
	p.api.Handle(controlrest.Path, controlrest.Handler(controlrest.Services{
		Controllers:   p.listControllers,
		Source:        p.observer,
		Nodes:         p.nodes,
		Interventions: p.interventions(),
		Clients:       p.clients.Interventions(),
		Speed:         p.speedControl(),
		Snapshots:     p.snapshots,
		Flags:         p.supervisor.Flags,
		Unhealthy:     p.unhealthyObjects,
		Permissions:   p.clients.Permissions,
		Started:       p.began,
	}))
	return nil
}

// interventions intervenes in the controllers of this process and in those that clients
// report.
func (p *controlPlane) interventions() control.Interventions {
	return p.clients.ControllerInterventions(leaderInterventions{p.supervisor.Interventions(), p.checkLeader}, func(name string) bool {
		return slices.ContainsFunc(p.supervisor.Statuses(), func(s controllers.Status) bool {
			return s.Name == name || slices.Contains(s.Aliases, name)
		})
	})
}

// listControllers returns every controller, by name; those that clients report come last.
func (p *controlPlane) listControllers() []control.Controller {
	var list []control.Controller
	for _, status := range p.supervisor.Statuses() {
		if status.State == controllers.Off && status.Reason == "" {
			status.Reason = cmp.Or(p.standbyReason(), "not started: the control plane is starting")
		}
		list = append(list, control.Controller{
			Name: status.Name, Aliases: status.Aliases, State: string(status.State), Reason: status.Reason, Interventions: status.Interventions,
		})
	}
	return append(list, p.clients.Controllers()...)
}
