package controllers

import (
	"testing"

	"k8s.io/kubernetes/pkg/kubeapiserver"
)

func TestStored(t *testing.T) {
	for key, want := range map[string][2]string{
		"/registry/pods/default/web":                                             {"pods", "default/web"},
		"/registry/minions/node-1":                                               {"nodes", "node-1"},
		"/registry/controllers/default/rc":                                       {"replicationcontrollers", "default/rc"},
		"/registry/services/specs/default/web":                                   {"services", "default/web"},
		"/registry/services/endpoints/default/web":                               {"endpoints", "default/web"},
		"/registry/deployments/default/web":                                      {"deployments.apps", "default/web"},
		"/registry/jobs/default/j":                                               {"jobs.batch", "default/j"},
		"/registry/ingress/default/i":                                            {"ingresses.networking.k8s.io", "default/i"},
		"/registry/networkpolicies/default/n":                                    {"networkpolicies.networking.k8s.io", "default/n"},
		"/registry/events/default/e":                                             {"events", "default/e"},
		"/registry/leases/kube-node-lease/node-1":                                {"leases.coordination.k8s.io", "kube-node-lease/node-1"},
		"/registry/clusterroles/system:node":                                     {"clusterroles.rbac.authorization.k8s.io", "system:node"},
		"/registry/serviceaccounts/a/default":                                    {"serviceaccounts", "a/default"},
		"/registry/apiextensions.k8s.io/customresourcedefinitions/w.example.com": {"customresourcedefinitions.apiextensions.k8s.io", "w.example.com"},
		"/registry/apiregistration.k8s.io/apiservices/v1.apps":                   {"apiservices.apiregistration.k8s.io", "v1.apps"},
		"/registry/example.com/widgets/default/w":                                {"widgets.example.com", "default/w"},
		"/registry/ranges/serviceips":                                            {"", ""},
		"/registry/masterleases/127.0.0.1":                                       {"", ""},
		"/registry/health":                                                       {"", ""},
		"compact_rev_key":                                                        {"", ""},
		"/registry/":                                                             {"", ""},
	} {
		if resource, name := Stored([]byte(key)); resource != want[0] || name != want[1] {
			t.Errorf("%s: got %q, %q, want %q", key, resource, name, want)
		}
	}
}

// Each exception of upstream's is known: a new one shows here.
func TestStoredKnowsUpstreamsExceptions(t *testing.T) {
	for of, prefix := range kubeapiserver.SpecialDefaultResourcePrefixes {
		if of.Group == "extensions" {
			continue
		}
		if got, _ := Stored([]byte("/registry/" + prefix + "/x")); got != of.String() {
			t.Errorf("%s is under %s, taken for %s", of, prefix, got)
		}
	}
}
