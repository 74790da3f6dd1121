package requestkind

import "testing"

func TestStoresObject(t *testing.T) {
	for _, tt := range []struct {
		group, resource, subresource string
		want                         bool
	}{
		{"", "serviceaccounts", "", true},
		{"", "serviceaccounts", "token", false},
		{"example.com", "serviceaccounts", "token", true},
		{"", "pods", "token", true},
		{"", "pods", "log", false},
		{"example.com", "pods", "log", true},
		{"", "services", "log", true},
		{"", "pods", "exec", false},
		{"", "pods", "eviction", true},
		{"", "nodes", "proxy", false},
		{"authorization.k8s.io", "subjectaccessreviews", "", false},
		{"authentication.k8s.io", "tokenreviews", "", false},
		{"coordination.k8s.io", "leases", "", true},
	} {
		if got := StoresObject(tt.group, tt.resource, tt.subresource); got != tt.want {
			t.Errorf("%s %s/%s: %v, want %v", tt.group, tt.resource, tt.subresource, got, tt.want)
		}
	}
}
