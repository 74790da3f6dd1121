package controllers

import (
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
)

type managerConfig = kubectrlmgrconfig.KubeControllerManagerConfiguration

// controllerFacts is what upstream's descriptor of a controller does not say.
type controllerFacts struct {
	// flag is upstream's flag for the number of workers, and workers reads the field that it sets; "" and nil = the number is fixed.
	flag    string
	workers func(*managerConfig) int32
	queues  map[string]queueFacts
}

type queueFacts struct {
	// resource is that of the objects that the keys name; "" = it is not known. Where events of other kinds add a key, or a sync
	// reads and writes objects of other kinds, these are not the key.
	resource string
	// workers is a constant of upstream; 0 = the number that the flag sets or, without a flag, it is not known.
	workers int
	// sharing is how many queues of the controller have this name and are counted as one, each with as many workers; 0 = one.
	sharing int
	// events is set if the keys are events, from which most often nothing follows, or if syncs pass their keys to other
	// goroutines, so that nothing that follows is an effect of theirs.
	events bool
}

// upstreamFacts has the facts of upstream's controllers, as far as they are known. TestFactsOfUpstream compares them with those that run.
var upstreamFacts = map[string]controllerFacts{
	names.DaemonSetController: {
		"concurrent-daemonset-syncs", func(c *managerConfig) int32 { return c.DaemonSetController.ConcurrentDaemonSetSyncs },
		map[string]queueFacts{"daemonset": {resource: "daemonsets.apps"}}},
	names.StatefulSetController: {
		"concurrent-statefulset-syncs", func(c *managerConfig) int32 { return c.StatefulSetController.ConcurrentStatefulSetSyncs },
		map[string]queueFacts{"statefulset": {resource: "statefulsets.apps"}}},
	names.ReplicaSetController: {
		"concurrent-replicaset-syncs", func(c *managerConfig) int32 { return c.ReplicaSetController.ConcurrentRSSyncs },
		map[string]queueFacts{"replicaset": {resource: "replicasets.apps"}}},
	names.DeploymentController: {
		"concurrent-deployment-syncs", func(c *managerConfig) int32 { return c.DeploymentController.ConcurrentDeploymentSyncs },
		map[string]queueFacts{"deployment": {resource: "deployments.apps"}}},
	names.ReplicationControllerController: {
		"concurrent_rc_syncs", func(c *managerConfig) int32 { return c.ReplicationController.ConcurrentRCSyncs },
		map[string]queueFacts{"replicationmanager": {resource: "replicationcontrollers"}}},
	names.HorizontalPodAutoscalerController: {
		"concurrent-horizontal-pod-autoscaler-syncs", func(c *managerConfig) int32 { return c.HPAController.ConcurrentHorizontalPodAutoscalerSyncs },
		map[string]queueFacts{"horizontalpodautoscaler": {resource: "horizontalpodautoscalers.autoscaling"}}},
	names.JobController: {
		"concurrent-job-syncs", func(c *managerConfig) int32 { return c.JobController.ConcurrentJobSyncs },
		map[string]queueFacts{"job": {resource: "jobs.batch"}}},
	names.CronJobController: {
		"concurrent-cron-job-syncs", func(c *managerConfig) int32 { return c.CronJobController.ConcurrentCronJobSyncs },
		map[string]queueFacts{"cronjob": {resource: "cronjobs.batch"}}},
	names.TTLAfterFinishedController: {
		"concurrent-ttl-after-finished-syncs", func(c *managerConfig) int32 { return c.TTLAfterFinishedController.ConcurrentTTLSyncs },
		map[string]queueFacts{"ttl_jobs_to_delete": {resource: "jobs.batch"}}},
	names.EndpointsController: {
		"concurrent-endpoint-syncs", func(c *managerConfig) int32 { return c.EndpointController.ConcurrentEndpointSyncs },
		map[string]queueFacts{"endpoint": {resource: "services"}}},
	names.EndpointSliceController: {
		"concurrent-service-endpoint-syncs", func(c *managerConfig) int32 { return c.EndpointSliceController.ConcurrentServiceEndpointSyncs },
		map[string]queueFacts{"endpoint_slice": {resource: "services"}}},
	names.EndpointSliceMirroringController: {
		"mirroring-concurrent-service-endpoint-syncs", func(c *managerConfig) int32 {
			return c.EndpointSliceMirroringController.MirroringConcurrentServiceEndpointSyncs
		},
		map[string]queueFacts{"endpoint_slice_mirroring": {resource: "endpoints"}}},
	names.EphemeralVolumeController: {
		"concurrent-ephemeralvolume-syncs", func(c *managerConfig) int32 { return c.EphemeralVolumeController.ConcurrentEphemeralVolumeSyncs },
		map[string]queueFacts{"ephemeral_volume": {resource: "pods"}}},
	names.ResourceQuotaController: {
		"concurrent-resource-quota-syncs", func(c *managerConfig) int32 { return c.ResourceQuotaController.ConcurrentResourceQuotaSyncs },
		map[string]queueFacts{"resourcequota_primary": {resource: "resourcequotas"}, "resourcequota_priority": {resource: "resourcequotas"}}},
	names.NamespaceController: {
		"concurrent-namespace-syncs", func(c *managerConfig) int32 { return c.NamespaceController.ConcurrentNamespaceSyncs },
		map[string]queueFacts{"namespace": {resource: "namespaces"}}},
	names.GarbageCollectorController: {
		"concurrent-gc-syncs", func(c *managerConfig) int32 { return c.GarbageCollectorController.ConcurrentGCSyncs },
		map[string]queueFacts{
			controllernames.GarbageCollectorQueue: {}, "garbage_collector_attempt_to_orphan": {},
			"garbage_collector_graph_changes": {workers: 1, events: true},
		}},
	names.DisruptionController: {
		"concurrent-disruption-syncs", func(c *managerConfig) int32 { return c.DisruptionController.ConcurrentDisruptionSyncs },
		map[string]queueFacts{"disruption": {resource: "poddisruptionbudgets.policy"}}},
	names.ServiceAccountTokenController: {
		"concurrent-serviceaccount-token-syncs", func(c *managerConfig) int32 { return c.SAController.ConcurrentSATokenSyncs },
		map[string]queueFacts{"serviceaccount_tokens_service": {sharing: 2}}}, // ServiceAccounts and Secrets
	names.ValidatingAdmissionPolicyStatusController: {
		"concurrent-validating-admission-policy-status-syncs", func(c *managerConfig) int32 { return c.ValidatingAdmissionPolicyStatusController.ConcurrentPolicySyncs },
		map[string]queueFacts{"validatingadmissionpolicy-status": {}}},
	names.ResourceClaimController: {
		"concurrent-resourceclaim-syncs", func(c *managerConfig) int32 { return c.ResourceClaimController.ConcurrentSyncs },
		map[string]queueFacts{"resource_claim": {}}},
	names.DeviceTaintEvictionController: {
		"concurrent-device-taint-eviction-syncs", func(c *managerConfig) int32 { return c.DeviceTaintEvictionController.ConcurrentSyncs },
		map[string]queueFacts{"device-taint-eviction-controller": {}}},

	names.ServiceAccountController:                     {queues: map[string]queueFacts{"serviceaccount": {resource: "namespaces", workers: 1}}},
	names.RootCACertificatePublisherController:         {queues: map[string]queueFacts{"root_ca_cert_publisher": {resource: "namespaces", workers: 1}}},
	names.TTLController:                                {queues: map[string]queueFacts{"ttlcontroller": {resource: "nodes", workers: 5}}},
	names.ClusterRoleAggregationController:             {queues: map[string]queueFacts{"ClusterRoleAggregator": {resource: "clusterroles.rbac.authorization.k8s.io", workers: 5}}},
	names.ServiceCIDRController:                        {queues: map[string]queueFacts{"ipaddresses": {workers: 5}}},
	names.PersistentVolumeBinderController:             {queues: map[string]queueFacts{"claims": {resource: "persistentvolumeclaims"}, "volumes": {resource: "persistentvolumes"}}},
	names.PersistentVolumeClaimProtectionController:    {queues: map[string]queueFacts{"pvcprotection": {resource: "persistentvolumeclaims", workers: 1}}},
	names.PersistentVolumeProtectionController:         {queues: map[string]queueFacts{"pvprotection": {resource: "persistentvolumes", workers: 1}}},
	names.VolumeAttributesClassProtectionController:    {queues: map[string]queueFacts{"vacprotection": {workers: 1}}},
	names.CertificateSigningRequestApprovingController: {queues: map[string]queueFacts{"certificate": {workers: 5}}},
	names.CertificateSigningRequestSigningController:   {queues: map[string]queueFacts{"certificate": {workers: 5, sharing: 4}}}, // one for each signer
	names.BootstrapSignerController:                    {queues: map[string]queueFacts{"bootstrap_signer_queue": {workers: 1}}},
	names.TokenCleanerController:                       {queues: map[string]queueFacts{"token_cleaner": {workers: 1}}},
	names.TaintEvictionController:                      {queues: map[string]queueFacts{"noexec_taint_pod": {events: true}}},
}

// describeQueues tells the recorder of a unit what is known of its queues.
func (u *unit) describeQueues() {
	resources, quiet := map[string]string{}, []string(nil)
	for name, q := range upstreamFacts[u.name].queues {
		if q.resource != "" {
			resources[name] = q.resource
		}
		if q.events {
			quiet = append(quiet, name)
		}
	}
	u.recorder.SetKeyResources(resources)
	u.recorder.SkipIdleSyncsOf(quiet...)
}

// WorkerCount returns how many workers a controller's queue has; 0 if it is not known.
func (s *Supervisor) WorkerCount(controller, queue string) int {
	facts := upstreamFacts[controller]
	q, ok := facts.queues[queue]
	if !ok {
		return 0
	}
	if q.workers == 0 && facts.workers != nil {
		config := s.config
		if to := s.units[controller].scaled.Load(); to != nil {
			config = to.config
		}
		q.workers = int(facts.workers(config))
	}
	return q.workers * max(q.sharing, 1)
}
