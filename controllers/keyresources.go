package controllers

import "k8s.io/kubernetes/cmd/kube-controller-manager/names"

// keyResources are the resources of the objects that the keys of queues name, by controller and queue. Where events of other kinds
// add a key, or a sync reads and writes objects of other kinds, these are not the key.
var keyResources = map[string]map[string]string{
	names.DaemonSetController:                       {"daemonset": "daemonsets.apps"},
	names.StatefulSetController:                     {"statefulset": "statefulsets.apps"},
	names.ReplicaSetController:                      {"replicaset": "replicasets.apps"},
	names.DeploymentController:                      {"deployment": "deployments.apps"},
	names.ReplicationControllerController:           {"replicationmanager": "replicationcontrollers"},
	names.HorizontalPodAutoscalerController:         {"horizontalpodautoscaler": "horizontalpodautoscalers.autoscaling"},
	names.JobController:                             {"job": "jobs.batch"},
	names.CronJobController:                         {"cronjob": "cronjobs.batch"},
	names.TTLAfterFinishedController:                {"ttl_jobs_to_delete": "jobs.batch"},
	names.EndpointsController:                       {"endpoint": "services"},
	names.EndpointSliceController:                   {"endpoint_slice": "services"},
	names.EndpointSliceMirroringController:          {"endpoint_slice_mirroring": "endpoints"},
	names.EphemeralVolumeController:                 {"ephemeral_volume": "pods"},
	names.ResourceQuotaController:                   {"resourcequota_primary": "resourcequotas", "resourcequota_priority": "resourcequotas"},
	names.NamespaceController:                       {"namespace": "namespaces"},
	names.ServiceAccountController:                  {"serviceaccount": "namespaces"},
	names.RootCACertificatePublisherController:      {"root_ca_cert_publisher": "namespaces"},
	names.DisruptionController:                      {"disruption": "poddisruptionbudgets.policy"},
	names.TTLController:                             {"ttlcontroller": "nodes"},
	names.ClusterRoleAggregationController:          {"ClusterRoleAggregator": "clusterroles.rbac.authorization.k8s.io"},
	names.PersistentVolumeBinderController:          {"claims": "persistentvolumeclaims", "volumes": "persistentvolumes"},
	names.PersistentVolumeClaimProtectionController: {"pvcprotection": "persistentvolumeclaims"},
	names.PersistentVolumeProtectionController:      {"pvprotection": "persistentvolumes"},
}
