package ui

import "strings"

// ShortName returns a controller's name as people say it: "deployment". Of a client,
// "kubectl (kubernetes-admin)", it is the program.
func ShortName(controller string) string {
	switch controller {
	case "kube-scheduler":
		return "scheduler"
	case "simulated-kubelet":
		return "kubelet"
	}
	if program, _, isClient := strings.Cut(controller, " ("); isClient {
		return program
	}
	return strings.TrimSuffix(controller, "-controller")
}

// ShortQueue returns what a queue's name adds to that of its controller: nothing for
// endpoint_slice of endpointslice-controller, "attempt_to_delete" for
// garbage_collector_attempt_to_delete of garbage-collector-controller.
func ShortQueue(controller, queue string) string {
	rest, letters := queue, strings.ReplaceAll(ShortName(controller), "-", "")
	for rest != "" && letters != "" {
		if c := rest[0]; c != '_' && c != '-' {
			if c|0x20 != letters[0]|0x20 {
				return queue
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
	return rest
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
	if strings.Contains(controller, "/") {
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
