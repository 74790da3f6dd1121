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

// mostWorkers keeps a slip of the finger from starting a million of them.
const mostWorkers = 1000

// concurrency is upstream's flag for a controller's workers, and what it sets.
type concurrency struct {
	flag string
	of   func(*settings) int32
}

type settings = kubectrlmgrconfig.KubeControllerManagerConfiguration

var concurrencies = map[string]concurrency{
	names.DaemonSetController:             {"concurrent-daemonset-syncs", func(c *settings) int32 { return c.DaemonSetController.ConcurrentDaemonSetSyncs }},
	names.StatefulSetController:           {"concurrent-statefulset-syncs", func(c *settings) int32 { return c.StatefulSetController.ConcurrentStatefulSetSyncs }},
	names.ReplicaSetController:            {"concurrent-replicaset-syncs", func(c *settings) int32 { return c.ReplicaSetController.ConcurrentRSSyncs }},
	names.DeploymentController:            {"concurrent-deployment-syncs", func(c *settings) int32 { return c.DeploymentController.ConcurrentDeploymentSyncs }},
	names.ReplicationControllerController: {"concurrent_rc_syncs", func(c *settings) int32 { return c.ReplicationController.ConcurrentRCSyncs }},
	names.HorizontalPodAutoscalerController: {"concurrent-horizontal-pod-autoscaler-syncs",
		func(c *settings) int32 { return c.HPAController.ConcurrentHorizontalPodAutoscalerSyncs }},
	names.JobController:           {"concurrent-job-syncs", func(c *settings) int32 { return c.JobController.ConcurrentJobSyncs }},
	names.CronJobController:       {"concurrent-cron-job-syncs", func(c *settings) int32 { return c.CronJobController.ConcurrentCronJobSyncs }},
	names.EndpointsController:     {"concurrent-endpoint-syncs", func(c *settings) int32 { return c.EndpointController.ConcurrentEndpointSyncs }},
	names.EndpointSliceController: {"concurrent-service-endpoint-syncs", func(c *settings) int32 { return c.EndpointSliceController.ConcurrentServiceEndpointSyncs }},
	names.EndpointSliceMirroringController: {"mirroring-concurrent-service-endpoint-syncs",
		func(c *settings) int32 {
			return c.EndpointSliceMirroringController.MirroringConcurrentServiceEndpointSyncs
		}},
	names.EphemeralVolumeController:     {"concurrent-ephemeralvolume-syncs", func(c *settings) int32 { return c.EphemeralVolumeController.ConcurrentEphemeralVolumeSyncs }},
	names.ResourceQuotaController:       {"concurrent-resource-quota-syncs", func(c *settings) int32 { return c.ResourceQuotaController.ConcurrentResourceQuotaSyncs }},
	names.NamespaceController:           {"concurrent-namespace-syncs", func(c *settings) int32 { return c.NamespaceController.ConcurrentNamespaceSyncs }},
	names.GarbageCollectorController:    {"concurrent-gc-syncs", func(c *settings) int32 { return c.GarbageCollectorController.ConcurrentGCSyncs }},
	names.TTLAfterFinishedController:    {"concurrent-ttl-after-finished-syncs", func(c *settings) int32 { return c.TTLAfterFinishedController.ConcurrentTTLSyncs }},
	names.DisruptionController:          {"concurrent-disruption-syncs", func(c *settings) int32 { return c.DisruptionController.ConcurrentDisruptionSyncs }},
	names.ServiceAccountTokenController: {"concurrent-serviceaccount-token-syncs", func(c *settings) int32 { return c.SAController.ConcurrentSATokenSyncs }},
	names.ValidatingAdmissionPolicyStatusController: {"concurrent-validating-admission-policy-status-syncs",
		func(c *settings) int32 { return c.ValidatingAdmissionPolicyStatusController.ConcurrentPolicySyncs }},
	names.ResourceClaimController:       {"concurrent-resourceclaim-syncs", func(c *settings) int32 { return c.ResourceClaimController.ConcurrentSyncs }},
	names.DeviceTaintEvictionController: {"concurrent-device-taint-eviction-syncs", func(c *settings) int32 { return c.DeviceTaintEvictionController.ConcurrentSyncs }},
}

// scale is what a controller that was scaled is built with.
type scale struct {
	component *settings
	workers   map[queueName]int
	note      string
}

// Scale implements control.Gates.
func (g gates) Scale(_ context.Context, spec string, n int) ([]string, error) {
	list, err := g.named(spec, nil)
	if err != nil {
		return nil, err
	}
	if n < 1 || n > mostWorkers {
		return nil, usage.Errorf("%d workers: choose 1 to %d", n, mostWorkers)
	}
	scales := make([]*scale, len(list))
	for i, name := range list {
		if scales[i], err = g.scaleOf(name, n); err != nil {
			return nil, err
		}
	}
	return list, g.rebuildUnits(list, scales)
}

// scaleOf is nil for what is configured anyway.
func (s *Supervisor) scaleOf(name string, n int) (*scale, error) {
	c, ok := concurrencies[name]
	if !ok {
		return nil, usage.Errorf("controller %s: how many workers it has is fixed: upstream has no flag for it", name)
	}
	configured := int(c.of(s.component))
	if n == configured {
		return nil, nil
	}
	cfg := s.cfg
	cfg.Args = append(cfg.Args[:len(cfg.Args):len(cfg.Args)], fmt.Sprintf("%s=%d", c.flag, n))
	component, err := cfg.component() // with upstream's checks
	if err != nil {
		return nil, err
	}
	return &scale{component, workerCounts(component), fmt.Sprintf("%d workers in place of %d", n, configured)}, nil
}

// rebuildUnits ends controllers that run and begins them anew.
func (s *Supervisor) rebuildUnits(list []string, scales []*scale) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared == nil || s.closed {
		return errNotStarted
	}
	for _, name := range list {
		if state := s.units[name].status().State; state != Running && state != Paused {
			return usage.Errorf("controller %s: it is %s: start it first", name, state)
		}
	}
	var errs []error
	for i, name := range list {
		errs = append(errs, s.rebuildUnit(s.units[name], scales[i]))
	}
	return errors.Join(errs...)
}

// rebuildUnit needs the lock. The hand on the gate stays; what it has held is
// refused, as the workers end that wait for it.
func (s *Supervisor) rebuildUnit(u *unit, to *scale) error {
	kept := u.currentGate().hand()
	if err := u.stop(); err != nil {
		return err
	}
	u.scale.Store(to)
	return s.startUnit(u.name, kept)
}

// hand is what may be laid on a gate.
type hand struct {
	paused bool
	delay  time.Duration
	fault  control.Fault
}

func (g *gate) hand() hand {
	g.mu.Lock()
	defer g.mu.Unlock()
	return hand{g.paused, g.delay, g.fault}
}

// lay lays a hand on a gate that has been open so far.
func (g *gate) lay(h hand) {
	g.setDelay(h.delay)
	g.setFault(h.fault)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.paused = h.paused
}
