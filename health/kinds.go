package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kinds of Kubernetes that more than one rule names.
var (
	serviceKind               = schema.GroupKind{Kind: "Service"}
	namespaceKind             = schema.GroupKind{Kind: "Namespace"}
	nodeKind                  = schema.GroupKind{Kind: "Node"}
	podKind                   = schema.GroupKind{Kind: "Pod"}
	claimKind                 = schema.GroupKind{Kind: "PersistentVolumeClaim"}
	volumeKind                = schema.GroupKind{Kind: "PersistentVolume"}
	replicationControllerKind = schema.GroupKind{Kind: "ReplicationController"}
	deploymentKind            = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	replicaSetKind            = schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
	statefulSetKind           = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	daemonSetKind             = schema.GroupKind{Group: "apps", Kind: "DaemonSet"}
	jobKind                   = schema.GroupKind{Group: "batch", Kind: "Job"}
	cronJobKind               = schema.GroupKind{Group: "batch", Kind: "CronJob"}
	autoscalerKind            = schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
	apiServiceKind            = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}
	crdKind                   = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
)

func kindOf(u *unstructured.Unstructured) schema.GroupKind { return u.GroupVersionKind().GroupKind() }
