package suggest

import (
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	controllers := []string{
		"cronjob", "cronjob-controller", "daemonset", "deployment", "deployment-controller",
		"endpoint", "endpointslice", "garbage-collector-controller", "job", "job-controller",
		"namespace", "namespace-controller", "replicaset", "replicaset-controller", "statefulset", "ttl",
	}
	verbs := []string{"controllers", "kubeconfig", "kubectl", "up", "version"}
	tests := []struct {
		name, word string
		known      []string
		want       string
	}{
		{"exact", "deployment", controllers, "deployment"},
		{"letter left out", "deploymnt", controllers, "deployment"},
		{"letter added", "replicasset", controllers, "replicaset"},
		{"letter replaced", "namespacd", controllers, "namespace"},
		{"swapped counts once", "jbo", controllers, "job"},
		{"swapped in a long one", "deploymetn-controller", controllers, "deployment-controller"},
		{"upper case", "DaemonSet", controllers, "daemonset"},
		{"plural", "deployments", controllers, "deployment"},
		{"fewest errors win", "endpoints", controllers, "endpoint"},
		{"prefix", "garb", controllers, "garbage-collector-controller"},
		{"shortest of those it begins", "repl", controllers, "replicaset"},
		{"part of one", "collector", controllers, "garbage-collector-controller"},
		{"contains one", "my-statefulset", controllers, "statefulset"},
		{"verb", "kubctl", verbs, "kubectl"},
		{"verb swapped", "pu", verbs, "up"},
		{"verb too short to be a part", "u", verbs, ""},
		{"nothing near", "scheduler", controllers, ""},
		{"all letters differ", "xy", []string{"up"}, ""},
		{"empty", "", controllers, ""},
		{"nothing known", "job", nil, ""},
		{"empty name", "a", []string{""}, ""},
		{"longest", "job" + strings.Repeat("x", maxWordLength-3), controllers, "job"},
		{"too long", "job" + strings.Repeat("x", maxWordLength-2), controllers, ""},
		{"not ASCII", "grün", []string{"gruen", "grun"}, "grun"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := Nearest(tt.word, tt.known); got != tt.want || ok != (tt.want != "") {
				t.Errorf("Nearest(%q) = %q, %v; want %q", tt.word, got, ok, tt.want)
			}
		})
	}
}

func TestNearestOrder(t *testing.T) {
	known := []string{"foo-a", "foo-b", "foo-c"}
	for range known {
		known = append(known[1:], known[0])
		for _, word := range []string{"foo-x", "foo"} {
			if got, _ := Nearest(word, slices.Clone(known)); got != "foo-a" {
				t.Errorf("Nearest(%q, %q) = %q, want the first by name", word, known, got)
			}
		}
	}
}
