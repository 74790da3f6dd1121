package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestCompareResults(t *testing.T) {
	old := newTestResults(3, testValues(), "ctrlplane", "three")
	v := testValues()
	v["ctrlplane"]["ready"] = 0.25 // outside the old range
	v["ctrlplane"]["acts"] = 0.65  // within the old range
	newer := newTestResults(3, v, "ctrlplane", "three", "three-lifted")
	testutil.Golden(t, "testdata/compare.golden", []byte(compareResults(old, newer)))
}

func TestCompareResultsOfOtherMachine(t *testing.T) {
	old := newTestResults(1, testValues(), "three")
	newer := newTestResults(1, testValues(), "ctrlplane")
	newer.Machine.CPUs = 64
	newer.IdleSeconds = 1
	testutil.Golden(t, "testdata/compare-others.golden", []byte(compareResults(old, newer)))
}

func TestSaveAndLoadResults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.json")
	want := newTestResults(2, testValues(), "ctrlplane", "three")
	if err := saveResults(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := loadResults(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLoadResultsRefusesBadFile(t *testing.T) {
	tests := map[string]string{
		"not json":                    "is not a results file",
		`{"format":2,"samples":[{}]}`: "has format 2",
		`{"format":1,"samples":[]}`:   "format 1 and 0 samples",
	}
	for content, want := range tests {
		path := testutil.WriteFile(t, filepath.Join(t.TempDir(), "out.json"), content)
		if _, err := loadResults(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", content, err, want)
		}
	}
}
