package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPartsAreConsistent(t *testing.T) {
	all := partNames()
	for i, p := range allParts() {
		if slices.Index(all, p.name) != i {
			t.Errorf("two parts have the name %s", p.name)
		}
		if p.needs != "" && slices.Index(all, p.needs) >= i {
			t.Errorf("%s needs %q, which is not measured before it", p.name, p.needs)
		}
		if slices.Contains(contestantChoices(), p.name) {
			t.Errorf("%s is also the name of a contestant", p.name)
		}
	}
	for _, name := range append(contestantNames(), observationContestants()...) {
		for _, p := range (options{}).newContestant(name).parts {
			if !slices.Contains(all, p) {
				t.Errorf("%s has the unknown part %s", name, p)
			}
		}
	}
}

func TestPartsOf(t *testing.T) {
	tests := []struct {
		only, contestant string
		at               location
		want             string
	}{
		{"", "ctrlplane", inMeasured, "start,idle,first-pod,pods-1000,pods-5000,informers,delete-empty,delete-5000"},
		{"", "ctrlplane", withCRDs, "crds,new-kind,collect"},
		{"", "ctrlplane", standalone, ""},
		{"", "ctrlplane-ephemeral", standalone, "run"},
		{"", "three", inMeasured, "start,idle,first-pod,pods-1000,informers,delete-empty"},
		{"collect", "three", inMeasured, ""},
		{"collect", "three", withCRDs, "crds,collect"},
		{"delete-5000,idle", "three-lifted", inMeasured, "idle,pods-5000,delete-5000"},
		{"delete-5000,idle", "three", inMeasured, "idle"},
		{"delete-5000,idle", "hooks-on", inMeasured, "idle,pods-5000"},
	}
	for _, tt := range tests {
		o := options{only: tt.only}
		if err := o.parseOnly(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range o.partsOf(o.newContestant(tt.contestant), tt.at) {
			got = append(got, p.name)
		}
		if strings.Join(got, ",") != tt.want {
			t.Errorf("-only %q, %s at %q: got %v, want %s", tt.only, tt.contestant, tt.at, got, tt.want)
		}
	}
}

func TestSelectedContestants(t *testing.T) {
	tests := []struct{ only, want string }{
		{"", "ctrlplane,ctrlplane-ephemeral,ctrlplane-restart,three,three-lifted,hooks-off,hooks-on,view-attached"},
		{"start", "ctrlplane,ctrlplane-ephemeral,ctrlplane-restart,three,three-lifted"},
		{"run", "ctrlplane-ephemeral"},
		{"collect,three,ctrlplane-restart", "three"},
		{"three,cost", "three,hooks-off,hooks-on,view-attached"},
		{"delete-5000", "ctrlplane,three-lifted,hooks-off,hooks-on,view-attached"},
	}
	for _, tt := range tests {
		o := options{only: tt.only}
		if err := o.parseOnly(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, strings.Join(o.selectedContestants(), ",")); diff != "" {
			t.Errorf("-only %q: %s", tt.only, diff)
		}
	}
}

func TestProgressKeysAreMetrics(t *testing.T) {
	var known []string
	for _, m := range allMetrics(1) {
		known = append(known, m.key)
	}
	for _, key := range progressKeys {
		if !slices.Contains(known, key) {
			t.Errorf("the progress line has key %s, which is not a metric", key)
		}
	}
}

func TestQuickFlag(t *testing.T) {
	for _, tt := range []struct {
		args         []string
		runs, rounds int
	}{
		{nil, 5, 6},
		{[]string{"-quick"}, 2, 2},
		{[]string{"-quick", "-runs", "3"}, 3, 2},
		{[]string{"-rounds", "1", "-quick"}, 2, 1},
	} {
		o, err := parseFlags(tt.args, nil)
		if err != nil || o.runs != tt.runs || o.rounds != tt.rounds {
			t.Errorf("%v: got %d runs and %d rounds, %v", tt.args, o.runs, o.rounds, err)
		}
	}
}
