package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestComparison(t *testing.T) {
	old := recorded(3, values(), "ctrlplane", "three")
	v := values()
	v["ctrlplane"]["ready"] = 0.25 // beyond the old range
	v["ctrlplane"]["acts"] = 0.65  // within it
	newer := recorded(3, v, "ctrlplane", "three", "three-lifted")
	golden(t, "compare", comparison(old, newer))
}

func TestComparisonOfOthers(t *testing.T) {
	old := recorded(1, values(), "three")
	newer := recorded(1, values(), "ctrlplane")
	newer.Machine.CPUs = 64
	newer.IdleSeconds = 1
	golden(t, "compare-others", comparison(old, newer))
}

func TestSaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.json")
	want := recorded(2, values(), "ctrlplane", "three")
	if err := save(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLoadRefuses(t *testing.T) {
	tests := map[string]string{
		"not json":                    "is no results file",
		`{"format":2,"samples":[{}]}`: "has format 2",
		`{"format":1,"samples":[]}`:   "with 0 samples",
	}
	for content, want := range tests {
		path := filepath.Join(t.TempDir(), "out.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", content, err, want)
		}
	}
}
