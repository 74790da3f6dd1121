package ui

import "testing"

func TestFamiliarity(t *testing.T) {
	order := []string{"operator/site", "deployment-controller", "node-lifecycle-controller", "ttl-controller"}
	for i := range order[1:] {
		if Familiarity(order[i]) >= Familiarity(order[i+1]) {
			t.Errorf("%s is not before %s", order[i], order[i+1])
		}
	}
}

func TestShortNames(t *testing.T) {
	for _, c := range []struct{ controller, queue, name, adds string }{
		{"deployment-controller", "deployment", "deployment", ""},
		{"kube-scheduler", "active", "scheduler", "active"},
		{"simulated-kubelet", "pods", "kubelet", "pods"},
		{"endpointslice-controller", "endpoint_slice", "endpointslice", ""},
		{"endpointslice-controller", "endpoint_slice_topology", "endpointslice", "topology"},
		{"endpoints-controller", "endpoint", "endpoints", ""},
		{"garbage-collector-controller", "garbage_collector_attempt_to_delete", "garbage-collector", "attempt_to_delete"},
		{"resourcequota-controller", "resource_quota_controller_resource_changes", "resourcequota", "resource_changes"},
		{"certificatesigningrequest-signing-controller", "DynamicCABundle-csr-controller", "csr-signing", "DynamicCABundle-csr"},
		{"persistentvolume-binder-controller", "claims", "pv-binder", "claims"},
		{"", "cronjob", "", "cronjob"},
		{"shop/site", "site", "shop/site", ""},
		{"shop/site-controller", "site", "shop/site-controller", ""}, // the short name is not one that verbs accept
		{"shop-operator (admin)", "site", "shop-operator", "site"},
		{"shop-operator (admin)/site", "site", "shop-operator (admin)/site", ""},
		{"shop-operator (https://id/#jane)", "site", "shop-operator", "site"},
		{"shop-operator (https://id/#jane)/site", "site", "shop-operator (https://id/#jane)/site", ""},
	} {
		if got := ShortName(c.controller); got != c.name {
			t.Errorf("%s: got %q", c.controller, got)
		}
		if got := ShortQueue(c.controller, c.queue); got != c.adds {
			t.Errorf("%s of %s: got %q", c.queue, c.controller, got)
		}
	}
}
