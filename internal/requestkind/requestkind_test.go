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

// Only what is like the subresources of Kubernetes is none of an object: an aggregated API server may have "token" and "log".
func TestSubresourcesOfOtherGroups(t *testing.T) {
	for _, tt := range []struct {
		group, resource, subresource string
		stream, review               bool
	}{
		{"", "pods", "log", true, false},
		{"example.com", "pods", "log", false, false},
		{"", "services", "proxy", true, false},
		{"example.com", "widgets", "portforward", true, false},
		{"", "serviceaccounts", "token", false, true},
		{"example.com", "widgets", "token", false, false},
		{"authentication.k8s.io", "tokenreviews", "", false, true},
		{"", "pods", "", false, false},
	} {
		if got := IsStream(tt.group, tt.resource, tt.subresource); got != tt.stream {
			t.Errorf("%s %s/%s is a stream: %v", tt.group, tt.resource, tt.subresource, got)
		}
		if got := IsReview(tt.group, tt.resource, tt.subresource); got != tt.review {
			t.Errorf("%s %s/%s is a review: %v", tt.group, tt.resource, tt.subresource, got)
		}
	}
}
