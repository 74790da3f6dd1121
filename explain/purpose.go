// Package explain says in plain words what the parts of a control plane are for.
package explain

// Purpose says in two sentences what a controller, the API server or the
// scheduler is for; empty if the name is not known.
func Purpose(controller string) string {
	switch controller {
	case "kube-apiserver":
		return "Serves the Kubernetes API: checks who asks, admits and validates objects, and keeps them in etcd. All other parts talk to each other only through it."
	case "kube-scheduler":
		return "Chooses a node for each Pod that has none. It filters out nodes that cannot run the Pod, scores the rest, and binds the Pod to the best."

	case "volume-provisioner-controller":
		return "Makes a simulated volume for each claim of the default StorageClass, and removes it as the reclaim policy says. Nothing is stored anywhere: claims bind, so that the Pods that need them run."
	case "simulated-kubelet":
		return "Plays the kubelets of simulated nodes: renews their leases and takes Pods from Pending to Running, Ready and their end. No container is started."

	// Workloads.
	case "deployment-controller":
		return "Keeps one ReplicaSet for each version of a Deployment's Pod template. On a change it moves replicas from the old ones to the new one, no faster than the strategy allows."
	case "replicaset-controller":
		return "Creates and deletes Pods until each ReplicaSet has as many as it asks for. Most ReplicaSets belong to a Deployment."
	case "replicationcontroller-controller":
		return "Creates and deletes Pods until each ReplicationController has as many as it asks for. It is the predecessor of the ReplicaSet, and shares its code."
	case "statefulset-controller":
		return "Creates the numbered Pods of each StatefulSet, with stable names and their own PersistentVolumeClaims. By default it starts them in order and stops them in reverse."
	case "daemonset-controller":
		return "Runs one Pod of each DaemonSet on every node that it may use. As nodes come and go, or their labels and taints change, it adds and removes Pods."
	case "job-controller":
		return "Runs Pods for each Job until enough of them have succeeded. It replaces those that fail, up to the Job's limit, and then marks the Job as complete or failed."
	case "cronjob-controller":
		return "Creates a Job whenever the schedule of a CronJob says so. It heeds the concurrency policy and deletes finished Jobs beyond the history limits."
	case "ttl-after-finished-controller":
		return "Deletes Jobs that have finished, once their ttlSecondsAfterFinished have passed. Their Pods go with them."
	case "horizontal-pod-autoscaler-controller":
		return "Compares metrics with the targets of each HorizontalPodAutoscaler. It then sets the replicas of the workload that the autoscaler points to."
	case "disruption-controller":
		return "Counts for each PodDisruptionBudget how many of its Pods are healthy. From that it sets how many evictions the API server may allow now."

	// Pods and nodes.
	case "pod-garbage-collector-controller":
		return "Deletes Pods that nobody will end: those of nodes that are gone, and terminating ones that were never scheduled. It also deletes finished Pods, oldest first, beyond a threshold."
	case "podgroup-protection-controller":
		return "Keeps a PodGroup that is being deleted until no active Pod refers to it. Then it takes away the finalizer, and the PodGroup goes."
	case "node-ipam-controller":
		return "Gives each node its own ranges of Pod addresses, cut from the cluster's. It frees them again when the node is deleted."
	case "node-lifecycle-controller":
		return "Watches the leases and status of nodes, and marks as unknown those whose kubelet went silent. It taints nodes by their conditions, so that Pods are kept or moved away."
	case "taint-eviction-controller":
		return "Deletes Pods from nodes with a NoExecute taint that they do not tolerate. A Pod that tolerates it for a while goes when that time is over."
	case "device-taint-eviction-controller":
		return "Deletes Pods that use a device with a NoExecute taint which their ResourceClaim does not tolerate. Taints come from the device's driver or from a DeviceTaintRule."
	case "ttl-controller":
		return "Writes on each node, as an annotation, how long its kubelet may cache Secrets and ConfigMaps. The more nodes there are, the longer that is."
	case "resourceclaim-controller":
		return "Creates ResourceClaims from the templates that Pods and PodGroups name. It ends reservations, and deletes the generated claims, when those who used them are done."
	case "resourcepoolstatusrequest-controller":
		return "Answers each ResourcePoolStatusRequest with how many devices of the pools are free and in use. It deletes requests some time after they were made or answered."

	// Services and addresses.
	case "endpoints-controller":
		return "Lists the addresses of the Pods that a Service selects in an Endpoints object of the same name. It serves clients that do not know EndpointSlices."
	case "endpointslice-controller":
		return "Lists the addresses of the Pods that a Service selects, and which are ready, in EndpointSlices. Proxies and DNS learn from these where to send traffic."
	case "endpointslice-mirroring-controller":
		return "Copies Endpoints that people wrote themselves, for Services without a selector, to EndpointSlices. So readers need to know EndpointSlices only."
	case "service-cidr-controller":
		return "Guards the ranges that addresses of Services come from, and reports whether each ServiceCIDR is ready. One that is being deleted stays until no address depends on it."
	case "service-lb-controller":
		return "Asks the cloud for a load balancer for each Service of type LoadBalancer, and writes its address to the Service. It keeps ports and nodes up to date, and cleans up at the end."

	// Storage.
	case "persistentvolume-binder-controller":
		return "Binds each PersistentVolumeClaim to a PersistentVolume that fits, or has one provisioned. When the claim is gone it deletes or releases the volume, as its policy says."
	case "persistentvolume-attach-detach-controller":
		return "Has volumes attached to the nodes whose Pods need them, and detached when they no longer do. For CSI drivers it does so through VolumeAttachments."
	case "persistentvolume-expander-controller":
		return "Finds PersistentVolumeClaims that ask for more room than their volume has. It hands CSI volumes over to the driver's own resizer, and has those of older plugins grown."
	case "persistentvolumeclaim-protection-controller":
		return "Keeps a PersistentVolumeClaim that is being deleted as long as a Pod uses it. It puts a finalizer on claims, and takes it away when nobody does."
	case "persistentvolume-protection-controller":
		return "Keeps a PersistentVolume that is being deleted as long as it is bound to a claim. It puts a finalizer on volumes, and takes it away once they are free."
	case "volumeattributesclass-protection-controller":
		return "Keeps a VolumeAttributesClass that is being deleted as long as a volume or a claim uses it. It puts a finalizer on classes, and takes it away when nobody does."
	case "ephemeral-volume-controller":
		return "Creates a PersistentVolumeClaim for each generic ephemeral volume of a Pod. The Pod owns the claim, so it goes when the Pod goes."
	case "selinux-warning-controller":
		return "Finds Pods that share a volume but have different SELinux labels. It only warns, with events and metrics, that they may not be able to run together."

	// Namespaces, owners and limits.
	case "namespace-controller":
		return "Empties namespaces that are being deleted: it removes every object of every kind in them. When nothing is left it takes away the finalizer, and the namespace goes."
	case "garbage-collector-controller":
		return "Deletes objects whose owners are all gone, by following owner references of every kind. It also carries out foreground deletion and orphaning."
	case "resourcequota-controller":
		return "Adds up what each namespace uses and writes it to the status of its ResourceQuotas. Admission compares new objects with that."
	case "clusterrole-aggregation-controller":
		return "Fills each aggregated ClusterRole with the rules of all ClusterRoles that its label selectors match. The roles admin, edit and view are made so."
	case "validatingadmissionpolicy-status-controller":
		return "Checks the types in the CEL expressions of each ValidatingAdmissionPolicy. What may be wrong it writes to the policy's status as warnings."

	// Identities and certificates.
	case "serviceaccount-controller":
		return "Makes sure that each namespace has a ServiceAccount named default. Pods that name no other run as that one."
	case "serviceaccount-token-controller":
		return "Fills Secrets of type service-account-token with a token that does not expire, and the CA. It deletes those whose ServiceAccount is gone."
	case "legacy-serviceaccount-token-cleaner-controller":
		return "Finds token Secrets that were once generated for ServiceAccounts and have not been used for long. It first marks them as invalid, and deletes them after as long again."
	case "root-ca-certificate-publisher-controller":
		return "Puts the ConfigMap kube-root-ca.crt into every namespace. With it, Pods can check the certificate of the API server."
	case "kube-apiserver-serving-clustertrustbundle-publisher-controller":
		return "Publishes the CA that signs the API server's serving certificate as a ClusterTrustBundle. Pods can mount that as a projected volume."
	case "certificatesigningrequest-approving-controller":
		return "Approves requests of kubelets for their own client certificates. The asker needs the permission for it; all other requests wait for somebody else."
	case "certificatesigningrequest-signing-controller":
		return "Signs approved CertificateSigningRequests for the built-in Kubernetes signers with the cluster's CA. Those that break a signer's rules it marks as failed."
	case "certificatesigningrequest-cleaner-controller":
		return "Deletes CertificateSigningRequests that were issued, denied or failed some time ago. It also deletes those that have waited too long, and those with expired certificates."
	case "podcertificaterequest-cleaner-controller":
		return "Deletes PodCertificateRequests some time after they were made. By then the kubelet has its certificate, or has asked again."
	case "bootstrap-signer-controller":
		return "Signs the ConfigMap cluster-info with every bootstrap token that allows it. A new node that knows a token can so trust the address and CA it finds there."
	case "token-cleaner-controller":
		return "Deletes the Secrets of bootstrap tokens that have expired. So nobody can join the cluster with an old token."

	// The storage of the API itself.
	case "storageversion-garbage-collector-controller":
		return "Removes from StorageVersions what API servers that are gone said of themselves. When nobody is left in one, it deletes it."
	case "storage-version-migrator-controller":
		return "Carries out StorageVersionMigrations: it rewrites all objects of a kind, so that they are stored in the current version. It runs one at a time for each kind."

	// Parts of a cloud.
	case "cloud-node-controller":
		return "Completes new nodes with what the cloud knows of them: addresses, provider ID, instance type and zone. Then it takes away the taint that kept Pods off them."
	case "cloud-node-lifecycle-controller":
		return "Asks the cloud about nodes that are not ready. It deletes those whose machine is gone, and taints those whose machine is shut down."
	case "node-route-controller":
		return "Has the cloud route each node's Pod range to that node. It reports through a node condition whether the route is there."
	}
	return ""
}
