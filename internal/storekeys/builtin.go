package storekeys

// builtin lists the resources that the API server stores below their name, by
// group. Where two groups share a prefix, the first one names its resource.
var builtin = []struct {
	group     string
	resources []string
}{
	{"", []string{
		"configmaps", "endpoints", "events", "limitranges", "namespaces", "nodes", "persistentvolumeclaims",
		"persistentvolumes", "pods", "podtemplates", "replicationcontrollers", "resourcequotas", "secrets",
		"serviceaccounts", "services",
	}},
	{"admissionregistration.k8s.io", []string{
		"mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations",
		"validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations",
	}},
	{"apps", []string{"controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"}},
	{"autoscaling", []string{"horizontalpodautoscalers"}},
	{"batch", []string{"cronjobs", "jobs"}},
	{"certificates.k8s.io", []string{"certificatesigningrequests", "clustertrustbundles", "podcertificaterequests"}},
	{"coordination.k8s.io", []string{"leasecandidates", "leases"}},
	{"discovery.k8s.io", []string{"endpointslices"}},
	{"events.k8s.io", []string{"events"}},
	{"flowcontrol.apiserver.k8s.io", []string{"flowschemas", "prioritylevelconfigurations"}},
	{"internal.apiserver.k8s.io", []string{"storageversions"}},
	{"lifecycle.k8s.io", []string{"evictionrequests", "evictions"}},
	{"networking.k8s.io", []string{"ingressclasses", "ingresses", "ipaddresses", "networkpolicies", "servicecidrs"}},
	{"node.k8s.io", []string{"runtimeclasses"}},
	{"policy", []string{"poddisruptionbudgets"}},
	{"rbac.authorization.k8s.io", []string{"clusterrolebindings", "clusterroles", "rolebindings", "roles"}},
	{"resource.k8s.io", []string{
		"deviceclasses", "devicetaintrules", "resourceclaims", "resourceclaimtemplates",
		"resourcepoolstatusrequests", "resourceslices",
	}},
	{"scheduling.k8s.io", []string{"compositepodgroups", "podgroups", "priorityclasses", "workloads"}},
	{"storage.k8s.io", []string{
		"csidrivers", "csinodes", "csistoragecapacities", "storageclasses", "volumeattachments", "volumeattributesclasses",
	}},
	{"storagemigration.k8s.io", []string{"storageversionmigrations"}},
}

// exceptions are the resources that are not stored below their name.
var exceptions = map[string]string{
	"endpoints":                   "services/endpoints",
	"ingresses.networking.k8s.io": "ingress",
	"nodes":                       "minions",
	"replicationcontrollers":      "controllers",
	"services":                    "services/specs",
}

// resourceByPrefix and prefixByResource hold the built-in resources only, as
// RESOURCE or RESOURCE.GROUP.
var resourceByPrefix, prefixByResource = indexBuiltin()

func indexBuiltin() (byPrefix, byResource map[string]string) {
	byPrefix, byResource = map[string]string{}, map[string]string{}
	for _, of := range builtin {
		for _, resource := range of.resources {
			name, prefix := resourceName(of.group, resource), resource
			if exception, ok := exceptions[name]; ok {
				prefix = exception
			}
			byResource[name] = prefix
			if _, taken := byPrefix[prefix]; !taken {
				byPrefix[prefix] = name
			}
		}
	}
	return byPrefix, byResource
}
