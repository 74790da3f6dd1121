package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// resultsFormat changes when older versions would misread the file.
const resultsFormat = 1

// results is the content of the results file.
type results struct {
	Format      int               `json:"format"`
	StartedAt   time.Time         `json:"startedAt"`
	Machine     machine           `json:"machine"`
	Versions    map[string]string `json:"versions"` // by program
	IdleSeconds float64           `json:"idleSeconds"`
	Beside      bool              `json:"beside,omitempty"` // the contestants of cost ran at the same time
	Samples     []sample          `json:"samples"`          // in the order of the runs
}

type machine struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	CPUs   int    `json:"cpus"`
	Model  string `json:"model,omitempty"`
	Memory string `json:"memory,omitempty"`
}

// sample is one run of one contestant.
type sample struct {
	Contestant  string             `json:"contestant"`
	Run         int                `json:"run"`            // from 1
	SpinSeconds float64            `json:"spinSeconds"`    // of timeFixedWork, just before
	Load        *float64           `json:"load,omitempty"` // load average of the minute before
	Values      map[string]float64 `json:"values"`         // by the key of the metric, in its unit
}

// newResults returns results without samples.
func (o options) newResults(ctx context.Context) (*results, error) {
	res := &results{
		Format:      resultsFormat,
		StartedAt:   time.Now().UTC().Truncate(time.Second),
		Machine:     machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Model: cpuModel(), Memory: memoryTotal()},
		Versions:    map[string]string{},
		IdleSeconds: o.idle.Seconds(),
		Beside:      o.beside,
	}
	for _, name := range o.selectedContestants() {
		for _, binary := range o.newContestant(name).binaries {
			program, arg := strings.TrimSuffix(filepath.Base(binary), exe), "--version"
			if binary == o.ctrlplane {
				program, arg = "ctrlplane", "version"
			}
			if res.Versions[program] != "" {
				continue
			}
			out, err := exec.CommandContext(ctx, binary, arg).Output()
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", binary, arg, err)
			}
			first, _, _ := strings.Cut(string(out), "\n")
			res.Versions[program] = strings.TrimSpace(first)
		}
	}
	return res, nil
}

// contestants returns the contestants that were run, in order.
func (r *results) contestants() []string {
	var list []string
	for _, s := range r.Samples {
		if !slices.Contains(list, s.Contestant) {
			list = append(list, s.Contestant)
		}
	}
	return list
}

// onlyContestants returns the results of some contestants.
func (r *results) onlyContestants(contestants []string) *results {
	p := *r
	p.Samples = nil
	for _, s := range r.Samples {
		if slices.Contains(contestants, s.Contestant) {
			p.Samples = append(p.Samples, s)
		}
	}
	return &p
}

// hasMetric reports whether any run has the metric.
func (r *results) hasMetric(key string) bool {
	return slices.ContainsFunc(r.Samples, func(s sample) bool { _, ok := s.Values[key]; return ok })
}

// summaryOf summarizes a metric of a contestant; ok is false if no run has it.
func (r *results) summaryOf(contestant, key string) (_ summary, ok bool) {
	var values []float64
	for _, s := range r.Samples {
		if v, ok := s.Values[key]; ok && s.Contestant == contestant {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return summary{}, false
	}
	return summarize(values), true
}

// besideOrder is how contestants run with -beside.
const besideOrder = "at the same time, so that only CPU and memory can be compared"

// order says in which order the contestants of cost ran.
func (r *results) order() string {
	if r.Beside {
		return besideOrder
	}
	return "in alternating order"
}

func (r *results) idleTime() time.Duration {
	return time.Duration(r.IdleSeconds * float64(time.Second))
}

func saveResults(path string, r *results) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

func loadResults(path string) (*results, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r results
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s is not a results file: %w", path, err)
	}
	if r.Format != resultsFormat || len(r.Samples) == 0 {
		return nil, fmt.Errorf("%s has format %d and %d samples: only files of format %d with samples can be compared", path, r.Format, len(r.Samples), resultsFormat)
	}
	return &r, nil
}
