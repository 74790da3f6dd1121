package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// maxWorkers keeps a slip of the finger from starting a million of them.
const maxWorkers = 1000

// workerFlag is upstream's flag for a controller's workers, and what it sets.
type workerFlag struct {
	name string
	get  func(*managerConfig) int32
}

type managerConfig = kubectrlmgrconfig.KubeControllerManagerConfiguration

var workerFlags = map[string]workerFlag{
	names.DaemonSetController:             {"concurrent-daemonset-syncs", func(c *managerConfig) int32 { return c.DaemonSetController.ConcurrentDaemonSetSyncs }},
	names.StatefulSetController:           {"concurrent-statefulset-syncs", func(c *managerConfig) int32 { return c.StatefulSetController.ConcurrentStatefulSetSyncs }},
	names.ReplicaSetController:            {"concurrent-replicaset-syncs", func(c *managerConfig) int32 { return c.ReplicaSetController.ConcurrentRSSyncs }},
	names.DeploymentController:            {"concurrent-deployment-syncs", func(c *managerConfig) int32 { return c.DeploymentController.ConcurrentDeploymentSyncs }},
	names.ReplicationControllerController: {"concurrent_rc_syncs", func(c *managerConfig) int32 { return c.ReplicationController.ConcurrentRCSyncs }},
	names.HorizontalPodAutoscalerController: {"concurrent-horizontal-pod-autoscaler-syncs",
		func(c *managerConfig) int32 { return c.HPAController.ConcurrentHorizontalPodAutoscalerSyncs }},
	names.JobController:           {"concurrent-job-syncs", func(c *managerConfig) int32 { return c.JobController.ConcurrentJobSyncs }},
	names.CronJobController:       {"concurrent-cron-job-syncs", func(c *managerConfig) int32 { return c.CronJobController.ConcurrentCronJobSyncs }},
	names.EndpointsController:     {"concurrent-endpoint-syncs", func(c *managerConfig) int32 { return c.EndpointController.ConcurrentEndpointSyncs }},
	names.EndpointSliceController: {"concurrent-service-endpoint-syncs", func(c *managerConfig) int32 { return c.EndpointSliceController.ConcurrentServiceEndpointSyncs }},
	names.EndpointSliceMirroringController: {"mirroring-concurrent-service-endpoint-syncs",
		func(c *managerConfig) int32 {
			return c.EndpointSliceMirroringController.MirroringConcurrentServiceEndpointSyncs
		}},
	names.EphemeralVolumeController:     {"concurrent-ephemeralvolume-syncs", func(c *managerConfig) int32 { return c.EphemeralVolumeController.ConcurrentEphemeralVolumeSyncs }},
	names.ResourceQuotaController:       {"concurrent-resource-quota-syncs", func(c *managerConfig) int32 { return c.ResourceQuotaController.ConcurrentResourceQuotaSyncs }},
	names.NamespaceController:           {"concurrent-namespace-syncs", func(c *managerConfig) int32 { return c.NamespaceController.ConcurrentNamespaceSyncs }},
	names.GarbageCollectorController:    {"concurrent-gc-syncs", func(c *managerConfig) int32 { return c.GarbageCollectorController.ConcurrentGCSyncs }},
	names.TTLAfterFinishedController:    {"concurrent-ttl-after-finished-syncs", func(c *managerConfig) int32 { return c.TTLAfterFinishedController.ConcurrentTTLSyncs }},
	names.DisruptionController:          {"concurrent-disruption-syncs", func(c *managerConfig) int32 { return c.DisruptionController.ConcurrentDisruptionSyncs }},
	names.ServiceAccountTokenController: {"concurrent-serviceaccount-token-syncs", func(c *managerConfig) int32 { return c.SAController.ConcurrentSATokenSyncs }},
	names.ValidatingAdmissionPolicyStatusController: {"concurrent-validating-admission-policy-status-syncs",
		func(c *managerConfig) int32 { return c.ValidatingAdmissionPolicyStatusController.ConcurrentPolicySyncs }},
	names.ResourceClaimController:       {"concurrent-resourceclaim-syncs", func(c *managerConfig) int32 { return c.ResourceClaimController.ConcurrentSyncs }},
	names.DeviceTaintEvictionController: {"concurrent-device-taint-eviction-syncs", func(c *managerConfig) int32 { return c.DeviceTaintEvictionController.ConcurrentSyncs }},
}

// scaledConfig is what a controller that was scaled is built with.
type scaledConfig struct {
	config  *managerConfig
	workers map[queueKey]int
	note    string
}

// Scale implements control.Gates.
func (g interventions) Scale(_ context.Context, spec string, n int) ([]string, error) {
	list, err := g.resolveNames(spec, nil)
	if err != nil {
		return nil, err
	}
	if n < 1 || n > maxWorkers {
		return nil, usage.Errorf("%d workers: choose 1 to %d", n, maxWorkers)
	}
	scales := make([]*scaledConfig, len(list))
	for i, name := range list {
		if scales[i], err = g.scaledConfigFor(name, n); err != nil {
			return nil, err
		}
	}
	return list, g.restartUnits(list, scales)
}

// scaledConfigFor is nil for what is configured anyway.
func (s *Supervisor) scaledConfigFor(name string, n int) (*scaledConfig, error) {
	c, ok := workerFlags[name]
	if !ok {
		return nil, usage.Errorf("controller %s: how many workers it has is fixed: upstream has no flag for it", name)
	}
	configured := int(c.get(s.config))
	if n == configured {
		return nil, nil
	}
	cfg := s.cfg
	cfg.Args = append(cfg.Args[:len(cfg.Args):len(cfg.Args)], fmt.Sprintf("%s=%d", c.name, n))
	component, err := cfg.componentConfig() // with upstream's checks
	if err != nil {
		return nil, err
	}
	return &scaledConfig{component, workerCounts(component), fmt.Sprintf("%d workers in place of %d", n, configured)}, nil
}

// restartUnits ends controllers that run and begins them anew.
func (s *Supervisor) restartUnits(list []string, scales []*scaledConfig) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.informers == nil || s.closed {
		return errNotStarted
	}
	for _, name := range list {
		if state := s.units[name].status().State; state != Running && state != Paused {
			return usage.Errorf("controller %s: it is %s: start it first", name, state)
		}
	}
	var errs []error
	for i, name := range list {
		errs = append(errs, s.restartUnit(s.units[name], scales[i]))
	}
	return errors.Join(errs...)
}

// restartUnit needs the lock. The hand on the gate stays; what it has held is
// refused, as the workers end that wait for it.
func (s *Supervisor) restartUnit(u *unit, to *scaledConfig) error {
	kept := u.currentGate().Intervention()
	if err := u.stop(); err != nil {
		return err
	}
	u.scaled.Store(to)
	return s.startUnit(u.name, kept)
}

// Intervention is what may be laid on a gate.
type Intervention struct {
	paused bool
	delay  time.Duration
	fault  control.Fault
}

func (g *Gate) Intervention() Intervention {
	g.mu.Lock()
	defer g.mu.Unlock()
	return Intervention{g.paused, g.delay, g.fault}
}

// Apply lays a hand on a gate that has been open so far.
func (g *Gate) Apply(h Intervention) {
	g.SetDelay(h.delay)
	g.SetFault(h.fault)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.paused = h.paused
}
