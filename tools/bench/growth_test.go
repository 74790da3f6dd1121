package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

func newGrowthResults(steps ...growthStep) *growthResults {
	return &growthResults{
		StartedAt: time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC), Machine: machine{OS: "linux", Arch: "amd64", CPUs: 2},
		Versions: map[string]string{"ctrlplane": "ctrlplane v0.1.0"}, IdleSeconds: 10, Nodes: 1000, IdleMiB: 200, Steps: steps,
	}
}

func growthWithBend() *growthResults {
	return newGrowthResults(
		growthStep{Pods: 1000, Added: 1000, Seconds: 1, CPUSeconds: 2, MiB: 300},
		growthStep{Pods: 5000, Added: 4000, Seconds: 4.4, CPUSeconds: 8, MiB: 680},
		growthStep{Pods: 20000, Added: 15000, Seconds: 45, CPUSeconds: 33, MiB: 1900},
	)
}

func TestGrowthReport(t *testing.T) {
	testutil.Golden(t, "testdata/growth.golden", []byte(growthWithBend().formatReport()))
}

func TestGrowthPicture(t *testing.T) {
	testutil.Golden(t, "testdata/growth.svg.golden", []byte(requireXML(t, growthWithBend().drawCharts())))
}

// requireXML fails the test unless a text is well-formed XML, and returns it.
func requireXML(t *testing.T, text string) string {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return text
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestGrowthPictureOfOneStep(t *testing.T) {
	for _, g := range []*growthResults{
		newGrowthResults(growthStep{Pods: 10, Added: 10, Seconds: 0.1, CPUSeconds: 0.1, MiB: 190}), // less memory than before
		newGrowthResults(growthStep{Pods: 10, Added: 10}),
	} {
		if text := requireXML(t, g.drawCharts()); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("got %s", text)
		}
	}
}

func TestParseSizes(t *testing.T) {
	got, err := parseSizes("1000,5000,20000")
	if diff := cmp.Diff([]int{1000, 5000, 20000}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, bad := range []string{"", "1000,", "x", "1005", "1000,1000", "5000,1000", "-10", "0"} {
		if _, err := parseSizes(bad); !errors.As(err, new(usage.Error)) {
			t.Errorf("%q: got %v, want a usage error", bad, err)
		}
	}
}

func TestAxisTicks(t *testing.T) {
	for most, want := range map[float64][]float64{
		0:    {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1},
		4.2:  {0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5},
		1270: {0, 200, 400, 600, 800, 1000, 1200, 1400},
	} {
		got := axisTicks(most)
		for i := range got {
			got[i] = float64(int(got[i]*1000+0.5)) / 1000
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: %s", most, diff)
		}
	}
}
