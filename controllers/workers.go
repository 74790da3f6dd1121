package controllers

import (
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
)

// WorkerCount returns how many workers a controller's queue has; 0 if it is not known.
func (s *Supervisor) WorkerCount(controller, queue string) int {
	if u := s.units[controller]; u != nil {
		if to := u.scaled.Load(); to != nil {
			return to.workers[queueKey{controller, queue}]
		}
	}
	return s.workers[queueKey{controller, queue}]
}

// eventQueues are the queues whose keys are events, from which most often nothing follows. The syncs of
// noexec_taint_pod pass the key to another goroutine: nothing that follows is an effect of theirs.
var eventQueues = map[string][]string{
	names.GarbageCollectorController: {"garbage_collector_graph_changes"},
	names.TaintEvictionController:    {"noexec_taint_pod"},
}

type queueKey struct{ controller, queue string }

// workerCounts returns the numbers of workers in the configuration and, for
// controllers without a setting, the constants in cmd/kube-controller-manager/app.
func workerCounts(c *kubectrlmgrconfig.KubeControllerManagerConfiguration) map[queueKey]int {
	gc := int(c.GarbageCollectorController.ConcurrentGCSyncs)
	return map[queueKey]int{
		{names.DaemonSetController, "daemonset"}:                                              int(c.DaemonSetController.ConcurrentDaemonSetSyncs),
		{names.StatefulSetController, "statefulset"}:                                          int(c.StatefulSetController.ConcurrentStatefulSetSyncs),
		{names.ReplicaSetController, "replicaset"}:                                            int(c.ReplicaSetController.ConcurrentRSSyncs),
		{names.DeploymentController, "deployment"}:                                            int(c.DeploymentController.ConcurrentDeploymentSyncs),
		{names.ReplicationControllerController, "replicationmanager"}:                         int(c.ReplicationController.ConcurrentRCSyncs),
		{names.HorizontalPodAutoscalerController, "horizontalpodautoscaler"}:                  int(c.HPAController.ConcurrentHorizontalPodAutoscalerSyncs),
		{names.JobController, "job"}:                                                          int(c.JobController.ConcurrentJobSyncs),
		{names.CronJobController, "cronjob"}:                                                  int(c.CronJobController.ConcurrentCronJobSyncs),
		{names.EndpointsController, "endpoint"}:                                               int(c.EndpointController.ConcurrentEndpointSyncs),
		{names.EndpointSliceController, "endpoint_slice"}:                                     int(c.EndpointSliceController.ConcurrentServiceEndpointSyncs),
		{names.EndpointSliceMirroringController, "endpoint_slice_mirroring"}:                  int(c.EndpointSliceMirroringController.MirroringConcurrentServiceEndpointSyncs),
		{names.EphemeralVolumeController, "ephemeral_volume"}:                                 int(c.EphemeralVolumeController.ConcurrentEphemeralVolumeSyncs),
		{names.ResourceQuotaController, "resourcequota_primary"}:                              int(c.ResourceQuotaController.ConcurrentResourceQuotaSyncs),
		{names.ResourceQuotaController, "resourcequota_priority"}:                             int(c.ResourceQuotaController.ConcurrentResourceQuotaSyncs),
		{names.NamespaceController, "namespace"}:                                              int(c.NamespaceController.ConcurrentNamespaceSyncs),
		{names.GarbageCollectorController, controllernames.GarbageCollectorQueue}:             gc,
		{names.GarbageCollectorController, "garbage_collector_attempt_to_orphan"}:             gc,
		{names.GarbageCollectorController, "garbage_collector_graph_changes"}:                 1,
		{names.TTLAfterFinishedController, "ttl_jobs_to_delete"}:                              int(c.TTLAfterFinishedController.ConcurrentTTLSyncs),
		{names.DisruptionController, "disruption"}:                                            int(c.DisruptionController.ConcurrentDisruptionSyncs),
		{names.ServiceAccountTokenController, "serviceaccount_tokens_service"}:                int(c.SAController.ConcurrentSATokenSyncs),
		{names.ServiceAccountTokenController, "serviceaccount_tokens_secret"}:                 int(c.SAController.ConcurrentSATokenSyncs),
		{names.ValidatingAdmissionPolicyStatusController, "validatingadmissionpolicy-status"}: int(c.ValidatingAdmissionPolicyStatusController.ConcurrentPolicySyncs),
		{names.ResourceClaimController, "resource_claim"}:                                     int(c.ResourceClaimController.ConcurrentSyncs),
		{names.ServiceAccountController, "serviceaccount"}:                                    1,
		{names.RootCACertificatePublisherController, "root_ca_cert_publisher"}:                1,
		{names.TTLController, "ttlcontroller"}:                                                5,
		{names.ClusterRoleAggregationController, "ClusterRoleAggregator"}:                     5,
		{names.ServiceCIDRController, "ipaddresses"}:                                          5,
		{names.PersistentVolumeClaimProtectionController, "pvcprotection"}:                    1,
		{names.PersistentVolumeProtectionController, "pvprotection"}:                          1,
		{names.VolumeAttributesClassProtectionController, "vacprotection"}:                    1,
		{names.CertificateSigningRequestApprovingController, "certificate"}:                   5,
		{names.CertificateSigningRequestSigningController, "certificate"}:                     4 * 5, // four signers
		{names.BootstrapSignerController, "bootstrap_signer_queue"}:                           1,
		{names.TokenCleanerController, "token_cleaner"}:                                       1,
	}
}
