package controllers

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// maxWorkers protects from a mistyped number: each worker is a goroutine.
const maxWorkers = 1000

// workerFlag is upstream's flag for the number of a controller's workers, and the
// field that it sets.
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

// scaledConfig is the configuration of a controller that was scaled.
type scaledConfig struct {
	config         *managerConfig
	workers        map[queueKey]int
	of, configured int // the number of workers that was asked for, and the one that the flags say
}

func (i interventions) scale(ctx context.Context, names []string, workers int) ([]string, error) {
	list, err := i.resolveNames(names, nil)
	if err != nil {
		return nil, err
	}
	if workers < 1 || workers > maxWorkers {
		return nil, usage.Errorf("%d workers: choose 1 to %d", workers, maxWorkers)
	}
	configs := make([]*scaledConfig, len(list))
	for n, name := range list {
		if configs[n], err = i.s.scaledConfigFor(name, workers); err != nil {
			return nil, err
		}
	}
	unlock, err := i.s.lockResumed(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return list, i.s.restartUnits(list, configs)
}

// scaledConfigFor returns the configuration with that number of workers; nil if
// that is the configured number.
func (s *Supervisor) scaledConfigFor(name string, workers int) (*scaledConfig, error) {
	c, ok := workerFlags[name]
	if !ok {
		return nil, usage.Errorf("controller %s: its number of workers is fixed: upstream has no flag for it", name)
	}
	configured := int(c.get(s.config))
	if workers == configured {
		return nil, nil
	}
	cfg := s.cfg
	cfg.Args = append(cfg.Args[:len(cfg.Args):len(cfg.Args)], fmt.Sprintf("%s=%d", c.name, workers))
	config, err := cfg.componentConfig() // applies upstream's validation
	if err != nil {
		return nil, err
	}
	return &scaledConfig{config, workerCounts(config), workers, configured}, nil
}

// restartUnits restarts running controllers with other configurations. The caller holds the lock.
func (s *Supervisor) restartUnits(list []string, configs []*scaledConfig) error {
	if s.informers == nil || s.closed {
		return errNotStarted
	}
	for _, name := range list {
		if state := s.units[name].status().State; !state.isRunning() {
			return usage.Errorf("controller %s: it is %s: start it first", name, state)
		}
	}
	defer s.beginSuspension(restarting)()
	var errs []error
	for i, name := range list {
		errs = append(errs, s.restartUnit(s.units[name], configs[i]))
	}
	return errors.Join(errs...)
}

// restartUnit keeps the settings of the gate of the unit. Writes that are held are
// refused, as the workers that wait for them stop. The caller holds the lock.
func (s *Supervisor) restartUnit(u *unit, config *scaledConfig) error {
	kept := u.currentGate().Interventions()
	if err := u.stop(); err != nil {
		return err
	}
	u.scaled.Store(config)
	return s.startUnit(s.informers.ctx, u.name, kept)
}
