package main

import (
	"strings"
	"testing"
)

// TestOnlyReads has verbs of kubectl that are run with another control plane than the default one, and those that are not.
func TestOnlyReads(t *testing.T) {
	for args, want := range map[string]bool{
		"get -n default pods":                                true,
		"-n default get pods":                                true,
		"rollout status deploy/web":                          true,
		"create configmap c --dry-run=client":                true,
		"create configmap c --dry-run=server":                true,
		"label namespace default --list":                     true,
		"annotate namespace default --list":                  true,
		"set env -n kube-system deployments --all --list":    true,
		"-n default delete pods --all":                       false,
		"rollout restart deploy/web":                         false,
		"create configmap c --dry-run=none":                  false,
		"label namespace default a=b":                        false,
		"a-plugin --dry-run=client":                          false,
		"create --edit --dry-run=client -f c.yaml":           false, // kubectl ignores --dry-run here
		"create --edit --dry-run=server -f c.yaml":           false,
		"delete --raw /api/v1/namespaces/x --dry-run=server": false,
	} {
		if got := onlyReads(strings.Fields(args)); got != want {
			t.Errorf("kubectl %s: got %v, want %v", args, got, want)
		}
	}
}
