package controllers

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
)

// A misspelled resource would leave all keys of a queue unknown.
func TestKeyResourcesExist(t *testing.T) {
	known := map[string]bool{}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		known[plural.GroupResource().String()] = true
	}
	catalogue := map[string]bool{}
	for _, c := range buildCatalogue(nil, nil) {
		catalogue[c.Name] = true
	}
	for controller, queues := range keyResources {
		if !catalogue[controller] {
			t.Errorf("no controller %s", controller)
		}
		for queue, resource := range queues {
			if !known[resource] {
				t.Errorf("queue %s of %s: no resource %s", queue, controller, resource)
			}
		}
	}
}
