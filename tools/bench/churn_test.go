package main

import (
	"strings"
	"testing"
	"time"
)

func TestFormatChurn(t *testing.T) {
	var samples []churnSample
	for i := range 16 {
		samples = append(samples, churnSample{after: time.Duration(i)*time.Minute + time.Second, cycles: i, database: float64(100 + i), descriptors: 30})
	}
	got := formatChurn(16*time.Minute, samples)
	var rows []string
	for line := range strings.Lines(got) {
		if strings.HasPrefix(line, "| ") {
			rows = append(rows, strings.Join(strings.Fields(line), " "))
		}
	}
	if len(rows) != 10 { // header, separator, eighths
		t.Fatalf("%d lines in\n%s", len(rows), got)
	}
	if want := "| 2m0s | 1 | 100 (100–101) |"; !strings.HasPrefix(rows[2], want) {
		t.Errorf("first eighth: %s, want %s…", rows[2], want)
	}
	if want := "| 16m0s | 15 | 114 (114–115) |"; !strings.HasPrefix(rows[9], want) {
		t.Errorf("last eighth: %s, want %s…", rows[9], want)
	}
}

func TestGauge(t *testing.T) {
	text := []byte("# TYPE go_goroutines gauge\ngo_goroutines_like 1\ngo_goroutines 3634\n")
	if got, err := gauge(text, "go_goroutines"); err != nil || got != 3634 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := gauge(text, "process_open_fds"); err == nil {
		t.Error("a metric that is missing has a value")
	}
}
