package main

import (
	"encoding/json"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/google/go-cmp/cmp"
)

func TestCRDsAreOfRealisticSize(t *testing.T) {
	names, groups, sum := map[string]bool{}, map[string]bool{}, 0
	for i := range manyCRDs {
		c := newCRD(i)
		data, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		names[c.Name], groups[c.Spec.Group] = true, true
		sum += len(data)
		if aimed := 1000 * crdSizes[i%len(crdSizes)]; len(data) < aimed || len(data) > aimed+30_000 {
			t.Errorf("%s has %d bytes, want %d to 30,000 more", c.Name, len(data), aimed)
		}
	}
	if len(names) != manyCRDs || len(groups) != crdGroups {
		t.Errorf("%d names in %d groups, want %d in %d", len(names), len(groups), manyCRDs, crdGroups)
	}
	if mean := sum / manyCRDs / 1000; mean < 58 || mean > 66 {
		t.Errorf("the mean is %d kB, want %s", mean, crdMean)
	}
}

func TestCRDsAreDeterministic(t *testing.T) {
	if diff := cmp.Diff(newCRD(7), newCRD(7)); diff != "" {
		t.Error(diff)
	}
	if newCRD(7).Name == newCRD(8).Name {
		t.Error("two numbers give the same CRD")
	}
}

func TestIsEstablished(t *testing.T) {
	c := newCRD(0)
	if isEstablished(c) {
		t.Error("established without a status")
	}
	c.Status.Conditions = []apiextensions.CustomResourceDefinitionCondition{{Type: apiextensions.Established, Status: apiextensions.ConditionFalse}}
	if isEstablished(c) {
		t.Error("established although the condition is False")
	}
	c.Status.Conditions[0].Status = apiextensions.ConditionTrue
	if !isEstablished(c) {
		t.Error("not established although the condition is True")
	}
}
