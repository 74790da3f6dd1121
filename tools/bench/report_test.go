package main

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// newTestResults returns results in which run n of a contestant took n/10 more than the
// given values.
func newTestResults(runs int, values map[string]map[string]float64, contestants ...string) *results {
	r := &results{
		Format:      resultsFormat,
		StartedAt:   time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC),
		Machine:     machine{OS: "linux", Arch: "amd64", CPUs: 2, Model: "Some CPU", Memory: "8000000 kB"},
		Versions:    map[string]string{"ctrlplane": "ctrlplane v0.1.0", "etcd": "etcd Version: 3.7.0"},
		IdleSeconds: 10,
	}
	load := 0.25
	for n := range runs {
		for _, c := range contestants {
			s := sample{Contestant: c, Run: n + 1, SpinSeconds: 0.07, Load: &load, Values: map[string]float64{}}
			for key, v := range values[c] {
				s.Values[key] = v * (1 + float64(n)/10)
			}
			r.Samples = append(r.Samples, s)
		}
	}
	return r
}

func testValues() map[string]map[string]float64 {
	return map[string]map[string]float64{
		"ctrlplane":    {"ready": 0.5, "acts": 0.61, "usable": 0.61, "cpuStart": 0.912, "rss": 243, "cpuIdle": 0, "pods100x10": 1.1, "stop": 0.17, "binary": 146.25},
		"three":        {"ready": 2.2, "acts": 3.3, "usable": 3.3, "cpuStart": 2.4, "rss": 427, "cpuIdle": 3, "pods100x10": 61.5, "stop": 1.2, "binary": 249.7},
		"three-lifted": {"ready": 2, "acts": 2.9, "usable": 2.9, "cpuStart": 2.3, "rss": 433, "cpuIdle": 0, "pods100x10": 2.4, "stop": 1.2},
	}
}

func TestReport(t *testing.T) {
	testutil.Golden(t, "testdata/report.golden", []byte(formatReport(newTestResults(3, testValues(), "ctrlplane", "three", "three-lifted"))))
}

func TestReportOfOneContestant(t *testing.T) {
	r := newTestResults(1, testValues(), "ctrlplane")
	r.Machine.Model, r.Machine.Memory = "", ""
	r.Samples[0].Load = nil
	r.Samples[0].Values["pods500x10"] = 5.5
	testutil.Golden(t, "testdata/alone.golden", []byte(formatReport(r)))
}

func TestRunCountsOfInterruptedBench(t *testing.T) {
	r := newTestResults(2, testValues(), "ctrlplane", "three")
	r.Samples = r.Samples[:3]
	if got, want := formatRunCounts(r), "1 to 2 runs each"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFormatNoise(t *testing.T) {
	tests := []struct {
		name  string
		spins []float64
		load  float64
		noisy bool
	}{
		{"quiet", []float64{0.070, 0.072}, 0.5, false},
		{"spread", []float64{0.070, 0.090}, 0.1, true},
		{"load", []float64{0.070, 0.071}, 1.1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTestResults(len(tt.spins), testValues(), "ctrlplane")
			for i, s := range tt.spins {
				r.Samples[i].SpinSeconds, r.Samples[i].Load = s, &tt.load
			}
			if text := formatNoise(r); strings.HasPrefix(text, "NOISY MACHINE: ") != tt.noisy {
				t.Errorf("got %q, want noisy = %v", text, tt.noisy)
			}
		})
	}
}

func TestEveryContestantIsDescribed(t *testing.T) {
	for _, name := range append(contestantNames(), observationContestants()...) {
		if got := (options{}).newContestant(name).name; got != name {
			t.Errorf("contestant(%q) is %q", name, got)
		}
		if describeContestant(name) == describeContestant("no such") {
			t.Errorf("%s has no description", name)
		}
	}
}

func TestMetricKeysAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range allMetrics(time.Second) {
		if seen[m.key] {
			t.Errorf("two metrics have the key %s", m.key)
		}
		seen[m.key] = true
	}
}
