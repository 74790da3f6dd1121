package ui

import (
	"maps"
	"strings"

	"github.com/ctrlplane/ctrlplane/observe"
)

// shortNames are the names for tables of controllers whose own names are too long for a
// column at 80 columns: those of their resources are as "kubectl api-resources" shortens them.
var shortNames = map[string]string{
	"certificatesigningrequest-approving-controller":                 "csr-approving",
	"certificatesigningrequest-cleaner-controller":                   "csr-cleaner",
	"certificatesigningrequest-signing-controller":                   "csr-signing",
	"cloud-node-lifecycle-controller":                                "cloud-lifecycle",
	"clusterrole-aggregation-controller":                             "role-aggregation",
	"device-taint-eviction-controller":                               "device-eviction",
	"endpointslice-mirroring-controller":                             "ep-mirroring",
	"horizontal-pod-autoscaler-controller":                           "hpa",
	"kube-apiserver-serving-clustertrustbundle-publisher-controller": "bundle-publisher",
	"kube-scheduler": "scheduler",
	"legacy-serviceaccount-token-cleaner-controller": "sa-token-cleaner",
	"persistentvolume-attach-detach-controller":      "pv-attach-detach",
	"persistentvolume-binder-controller":             "pv-binder",
	"persistentvolume-expander-controller":           "pv-expander",
	"persistentvolume-protection-controller":         "pv-protection",
	"persistentvolumeclaim-protection-controller":    "pvc-protection",
	"pod-garbage-collector-controller":               "pod-gc",
	"podcertificaterequest-cleaner-controller":       "pcr-cleaner",
	"replicationcontroller-controller":               "rc",
	"resourcepoolstatusrequest-controller":           "resourcepoolstatus",
	"root-ca-certificate-publisher-controller":       "root-ca-publisher",
	"serviceaccount-token-controller":                "sa-token",
	"simulated-kubelet":                              "kubelet",
	"storage-version-migrator-controller":            "storage-migrator",
	"storageversion-garbage-collector-controller":    "storage-version-gc",
	"validatingadmissionpolicy-status-controller":    "vap-status",
	"volumeattributesclass-protection-controller":    "vac-protection",
}

// ShortNames returns the short names that do not follow from the names of controllers, by these.
func ShortNames() map[string]string { return maps.Clone(shortNames) }

// ShortName returns a controller's name as people say it: "deployment". Of a client,
// "kubectl (kubernetes-admin)", it is the program. A controller of a client whose program has
// another one of that name, "chaos (admin)/site", has no shorter name, and "shop/site-controller" neither: verbs refuse it.
func ShortName(controller string) string {
	if short, ok := shortNames[controller]; ok {
		return short
	}
	if observe.IsReported(controller) {
		return controller
	}
	return trimName(controller)
}

// LongName returns the controller with a short name; other names stay as they are.
func LongName(short string) string {
	for long, s := range shortNames {
		if s == short {
			return long
		}
	}
	return short
}

func trimName(controller string) string {
	if program := observe.ProgramOf(controller); program != controller && !observe.IsReported(controller) {
		return program
	}
	return strings.TrimSuffix(controller, "-controller")
}

// ShortQueue returns what a queue's name adds to that of its controller: nothing for
// endpoint_slice of endpointslice-controller, "attempt_to_delete" for
// garbage_collector_attempt_to_delete of garbage-collector-controller.
func ShortQueue(controller, queue string) string {
	if _, of, isReported := observe.SplitReported(controller); isReported {
		controller = of
	}
	rest, letters := queue, strings.ReplaceAll(trimName(controller), "-", "")
	for rest != "" && letters != "" {
		if c := rest[0]; c != '_' && c != '-' {
			if c|0x20 != letters[0]|0x20 {
				return trimQueue(queue)
			}
			letters = letters[1:]
		}
		rest = rest[1:]
	}
	rest = strings.TrimLeft(rest, "_-")
	for _, word := range []string{"controller_", "controller-"} {
		rest = strings.TrimPrefix(rest, word)
	}
	if rest == "controller" || rest == "s" {
		return ""
	}
	return trimQueue(rest)
}

func trimQueue(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, "_controller"), "-controller")
}

// familiar are the controllers that most people know, in the order of a lesson.
var familiar = []string{
	"deployment-controller", "replicaset-controller", "kube-scheduler", "simulated-kubelet", "statefulset-controller",
	"daemonset-controller", "job-controller", "cronjob-controller", "endpointslice-controller", "endpoints-controller",
	"service-lb-controller", "horizontal-pod-autoscaler-controller", "namespace-controller", "garbage-collector-controller",
	"node-lifecycle-controller", "persistentvolume-binder-controller", "serviceaccount-controller",
	"resourcequota-controller", "disruption-controller",
}

// Familiarity returns a controller's place in the order in which tables show idle
// controllers: first those of the user's operators, then those that most people know.
func Familiarity(controller string) int {
	if observe.IsReported(controller) {
		return -1
	}
	for i, name := range familiar {
		if name == controller {
			return i
		}
	}
	return len(familiar)
}

// IsInternal reports whether a component is a part of the API server rather than a
// controller that reconciles objects of users.
func IsInternal(controller string) bool {
	return controller == "kube-apiserver" || controller == "shared-informers"
}
