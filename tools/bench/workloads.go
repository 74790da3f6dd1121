package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// workloads is the value of -only for the measurement of Pods on simulated nodes. It
// compares nothing.
const workloads = "workloads"

// The load. kwok's continuous benchmark has limits of 60 s each, for 5,000 nodes and for
// 10,000 Pods that no scheduler places.
const (
	manyNodes, manyPods = 1000, 10000
	kwokTargets         = "kwok's limits: 5,000 nodes within 60 s, 10,000 Pods without a scheduler within 60 s"
)

// idleNodeCounts are the numbers of nodes for which idle control planes are measured.
var idleNodeCounts = []int{0, 1, 10, 100}

// runWorkloads measures and prints the medians.
func runWorkloads(ctx context.Context, o options, stdout, progress io.Writer) error {
	if err := o.prepareBinaries(ctx, progress); err != nil {
		return err
	}
	parent, err := os.MkdirTemp("", "ctrlplane-bench-")
	if err != nil {
		return err
	}
	values := map[string][]float64{}
	for n := range o.runs {
		fmt.Fprintf(progress, "run %d of %d: %s … ", n+1, o.runs, workloads)
		got, err := o.measureWorkloads(ctx, parent, n)
		if err != nil {
			fmt.Fprintln(progress, "failed")
			return err // the log that the error names stays
		}
		for key, value := range got {
			values[key] = append(values[key], value)
		}
		fmt.Fprintf(progress, "%s s until %d Pods are Ready\n", formatFigure(got["many/podsReady"]), manyPods)
	}
	if _, err := io.WriteString(stdout, formatWorkloads(o, values)); err != nil {
		return err
	}
	return os.RemoveAll(parent)
}

// measureWorkloads runs all parts once, each in a control plane of its own.
func (o options) measureWorkloads(ctx context.Context, parent string, n int) (map[string]float64, error) {
	values := map[string]float64{}
	part := func(name string, nodes int, do func(context.Context, *measurement, *apiClient) error) error {
		r, err := newWorkDir(parent, fmt.Sprintf("%s-%d", name, n+1))
		if err != nil {
			return err
		}
		defer r.close() // its error would hide that of the part
		certs := func() string {
			found, err := filepath.Glob(r.join("ctrlplane-ephemeral-*", "pki"))
			if err != nil || len(found) == 0 {
				return "" // not yet
			}
			return found[0]
		}
		p, err := o.launchUp(r, certs, "--ephemeral", "--no-scheduler=false", fmt.Sprintf("--nodes=%d", nodes))
		if err != nil {
			return err
		}
		defer p.kill()
		m := &measurement{options: o, controlPlane: p, values: map[string]float64{}}
		a, err := m.measureStart(ctx)
		if err == nil {
			defer a.close()
			err = p.whileRunning(ctx, o.idle+4*o.timeout, func(ctx context.Context) error { return do(ctx, m, a) })
		}
		if err != nil {
			return fmt.Errorf("%s, run %d: %w: see %s", name, n+1, err, r.log.Name())
		}
		for key, value := range m.values {
			values[name+"/"+key] = value
		}
		return nil
	}
	for _, nodes := range idleNodeCounts {
		err := part(fmt.Sprintf("nodes%d", nodes), nodes, func(ctx context.Context, m *measurement, _ *apiClient) error { return m.measureIdle(ctx) })
		if err != nil {
			return nil, err
		}
	}
	if err := part("many", 0, measureManyPods); err != nil {
		return nil, err
	}
	return values, part("burst", 100, measureBurstOnNodes)
}

// workloadRow is a row of the report.
type workloadRow struct{ key, label, unit string }

func workloadRows() []workloadRow {
	rows := []workloadRow{
		{"many/nodesReady", fmt.Sprintf("%d nodes Ready, from the first \"nodes add\"", manyNodes), "s"},
		{"many/podsReady", fmt.Sprintf("%d Pods Running and Ready, from the first create", manyPods), "s"},
		{"many/podsCPU", "– CPU until then", "s"},
		{"many/rss", "– idle memory after that, RSS", "MiB"},
		{"many/cpuIdle", "– idle CPU after that", "% of a core"},
		{"burst/ready", "100 Deployments with 10 replicas, all Pods Ready", "s"},
	}
	for _, n := range idleNodeCounts {
		rows = append(rows,
			workloadRow{fmt.Sprintf("nodes%d/usable", n), fmt.Sprintf("start with %d nodes", n), "s"},
			workloadRow{fmt.Sprintf("nodes%d/rss", n), "– idle memory, RSS", "MiB"},
			workloadRow{fmt.Sprintf("nodes%d/cpuIdle", n), "– idle CPU", "% of a core"})
	}
	return rows
}

func formatWorkloads(o options, values map[string][]float64) string {
	var rows [][]string
	for _, row := range workloadRows() {
		text := "n/a"
		if v := values[row.key]; len(v) > 0 {
			text = formatCell(summarize(v), true)
		}
		rows = append(rows, []string{row.label + ", " + row.unit, text})
	}
	noun := "runs"
	if o.runs == 1 {
		noun = "run"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Median (min–max) of %d %s, none discarded. Nothing is synced to disk (--ephemeral); %d clients create the Pods and the scheduler places them; idle is %v after the start.\n\n%s\n%s.\n",
		o.runs, noun, parallelClients, o.idle.Round(time.Second), markdownTable([]string{"", workloads}, rows), kwokTargets)
	return b.String()
}
