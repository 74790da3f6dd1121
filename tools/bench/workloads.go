package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// workloads is the value of -only for the measurement of Pods on simulated nodes, with a
// scheduler. Names of its contestants and parts may follow it.
const workloads = "workloads"

// The load. kwok's continuous benchmark has limits of 60 s each, for 5,000 nodes and for
// 10,000 Pods that no scheduler places.
const (
	manyNodes, manyPods = 1000, 10000
	mostNodes           = 5000
	kwokTargets         = "kwok's limits: 5,000 nodes within 60 s, 10,000 Pods without a scheduler within 60 s"
)

// workloadPart is what is measured in one control plane. Its name is the prefix of the
// keys of its figures.
type workloadPart struct {
	name    string
	nodes   int
	measure func(ctx context.Context, m *measurement, a *apiClient) error
}

func workloadParts() []workloadPart {
	idle := func(nodes int) workloadPart {
		return workloadPart{fmt.Sprintf("nodes-%d", nodes), nodes, func(ctx context.Context, m *measurement, a *apiClient) error {
			return m.countDuring(ctx, a, func() error { return m.measureIdle(ctx) })
		}}
	}
	return []workloadPart{
		idle(0), idle(1), idle(10), idle(100), idle(manyNodes), idle(mostNodes),
		{"first-ready", 1, measureFirstReady},
		{"burst", 100, measureBurstOnNodes},
		{"many", manyNodes, measureManyPods},
		{"scheduling", 0, measureScheduling},
		{"informers", 0, measureInformers},
	}
}

// workloadRow is a row of the report.
type workloadRow struct{ key, label, unit string }

func workloadRows() []workloadRow {
	var rows []workloadRow
	for _, p := range workloadParts() {
		switch p.name {
		case "first-ready":
			rows = append(rows,
				workloadRow{"first-ready/median", fmt.Sprintf("Deployment create → its Pod is Ready, 1 node, %d one after the other: median", firstPodTries), "ms"},
				workloadRow{"first-ready/p99", "– 99th percentile", "ms"})
		case "burst":
			rows = append(rows,
				workloadRow{"burst/ready", "100 Deployments with 10 replicas, 100 nodes: all Pods Ready", "s"},
				workloadRow{"burst/settled", "– statuses say so", "s"},
				workloadRow{"burst/cpu", "– CPU until then", "s"},
				workloadRow{"burst/requests", "– requests until then", "requests"},
				workloadRow{"burst/conflicts", "– of them conflicts", "requests"},
				workloadRow{"burst/allocated", "– memory allocated until then", "MiB"},
				workloadRow{"burst/rss", "– RSS then", "MiB"})
		case "many":
			rows = append(rows,
				workloadRow{"many/nodesReady", fmt.Sprintf("%d nodes Ready", p.nodes), "s"},
				workloadRow{"many/podsReady", fmt.Sprintf("%d Pods Ready on them", manyPods), "s"},
				workloadRow{"many/podsCPU", "– CPU until then", "s"},
				workloadRow{"many/rss", "– idle memory after that, RSS", "MiB"},
				workloadRow{"many/cpuIdle", "– idle CPU after that", "% of a core"},
				workloadRow{"many/deleted", fmt.Sprintf("%d Pods deleted", manyPods), "s"})
		case "scheduling":
			rows = append(rows,
				workloadRow{"scheduling/bound", fmt.Sprintf("%d Pods bound to %d nodes without kubelets, from the first create", manyPods, manyNodes), "s"},
				workloadRow{"scheduling/rate", "– Pods bound per second", "Pods/s"},
				workloadRow{"scheduling/cpu", "– CPU until then", "s"})
		case "informers":
			for _, m := range informerMetrics() {
				rows = append(rows, workloadRow{m.key, m.label, m.unit})
			}
		default:
			if p.nodes == mostNodes {
				rows = append(rows, workloadRow{p.name + "/nodesReady", fmt.Sprintf("%d nodes Ready", p.nodes), "s"})
			}
			rows = append(rows,
				workloadRow{p.name + "/cpuIdle", fmt.Sprintf("idle CPU with %s", countNodes(p.nodes)), "% of a core"},
				workloadRow{p.name + "/allocated", "– memory allocated in that time", "MiB"},
				workloadRow{p.name + "/rss", "– RSS", "MiB"})
		}
	}
	return rows
}

func countNodes(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}

// runWorkloads measures the selected parts of the selected contestants in turn, and prints
// the medians.
func runWorkloads(ctx context.Context, o options, stdout, progress io.Writer) error {
	if err := o.makePathsAbsolute(); err != nil {
		return err
	}
	contestants := o.workloadContestants()
	if err := o.prepareWorkloadBinaries(ctx, contestants, progress); err != nil {
		return err
	}
	parent, err := os.MkdirTemp("", "ctrlplane-bench-")
	if err != nil {
		return err
	}
	values := workloadValues{}
	for n := range o.runs {
		for _, part := range o.workloadParts() {
			for _, together := range o.groupContestants(contestants) {
				if err := o.measureTogether(ctx, parent, together, part, n, values, progress); err != nil {
					return err // the log that the error names stays
				}
			}
		}
	}
	text := formatWorkloads(o, contestants, values)
	if _, err := io.WriteString(stdout, text); err != nil {
		return err
	}
	if o.doc != "" {
		if err := insertSection(o.doc, workloads, text); err != nil {
			return err
		}
	}
	return os.RemoveAll(parent)
}

// groupContestants returns the contestants that run at the same time: one, or with -beside all.
func (o options) groupContestants(all []workloadContestant) [][]workloadContestant {
	if o.beside {
		return [][]workloadContestant{all}
	}
	return slices.Collect(slices.Chunk(all, 1))
}

// measureTogether measures a part once with each of the contestants, at the same time.
func (o options) measureTogether(ctx context.Context, parent string, contestants []workloadContestant, part workloadPart, n int, values workloadValues, progress io.Writer) error {
	var titles []string
	for _, c := range contestants {
		titles = append(titles, fmt.Sprintf("run %d of %d: %s, %s", n+1, o.runs, c.name, part.name))
	}
	got := make([]map[string]float64, len(contestants))
	errs := inStep(progress, titles, func(i int) (result string, err error) {
		got[i], err = o.measureWorkload(ctx, parent, contestants[i], part, n)
		return describeWorkload(part.name, got[i]), err
	})
	for i, c := range contestants {
		values.add(c.name, part.name, got[i])
	}
	return errors.Join(errs...)
}

// workloadValues are figures by contestant and key.
type workloadValues map[string]map[string][]float64

func (v workloadValues) add(contestant, part string, got map[string]float64) {
	if v[contestant] == nil {
		v[contestant] = map[string][]float64{}
	}
	for key, value := range got {
		key = part + "/" + key
		v[contestant][key] = append(v[contestant][key], value)
	}
}

// measureWorkload measures a part once, in a control plane of its own.
func (o options) measureWorkload(ctx context.Context, parent string, c workloadContestant, part workloadPart, n int) (_ map[string]float64, err error) {
	r, err := newWorkDir(parent, fmt.Sprintf("%s-%s-%d", c.name, part.name, n+1))
	if err != nil {
		return nil, err
	}
	defer r.close() // its error would hide that of the part
	p, err := c.launch(ctx, r)
	if err == nil {
		defer p.kill()
		m := &measurement{options: o, controlPlane: p, workDir: r, values: map[string]float64{}}
		if err = m.measureOnNodes(ctx, part); err == nil {
			return m.values, nil
		}
	}
	return nil, fmt.Errorf("%s, %s, run %d: %w: see %s", c.name, part.name, n+1, err, r.log.Name())
}

// measureOnNodes waits for the start, creates the nodes of a part and measures it.
func (m *measurement) measureOnNodes(ctx context.Context, part workloadPart) error {
	a, err := m.measureStart(ctx)
	if err != nil {
		return err
	}
	defer a.close()
	clear(m.values) // the start is measured elsewhere
	return m.controlPlane.whileRunning(ctx, m.idle+4*m.timeout, func(ctx context.Context) error {
		if err := m.createNodes(ctx, a, part.nodes); err != nil {
			return fmt.Errorf("nodes: %w", err)
		}
		return part.measure(ctx, m, a)
	})
}

// workloadParts returns the parts that -only selects.
func (o options) workloadParts() []workloadPart {
	selected := o.workloadSelection()
	all := workloadParts()
	chosen := slices.DeleteFunc(slices.Clone(all), func(p workloadPart) bool { return !slices.Contains(selected, p.name) })
	if len(chosen) == 0 {
		return all
	}
	return chosen
}

// workloadContestants returns the contestants that -only selects.
func (o options) workloadContestants() []workloadContestant {
	selected := o.workloadSelection()
	all := o.allWorkloadContestants()
	chosen := slices.DeleteFunc(slices.Clone(all), func(c workloadContestant) bool { return !slices.Contains(selected, c.name) })
	if len(chosen) == 0 {
		return all
	}
	return chosen
}

// workloadSelection returns what follows workloads in the value of -only.
func (o options) workloadSelection() []string { return strings.Split(o.only, ",")[1:] }

// isWorkloads reports whether -only selects workloads.
func (o options) isWorkloads() bool { return strings.Split(o.only, ",")[0] == workloads }

// checkWorkloadSelection returns an error if -only has a name that workloads do not have.
func (o options) checkWorkloadSelection() error {
	var known []string
	for _, c := range o.allWorkloadContestants() {
		known = append(known, c.name)
	}
	for _, p := range workloadParts() {
		known = append(known, p.name)
	}
	for _, name := range o.workloadSelection() {
		if !slices.Contains(known, name) {
			return usage.Errorf("-only: unknown contestant or part %q of workloads: choose from %s", name, strings.Join(known, ","))
		}
	}
	return nil
}

func describeWorkload(part string, got map[string]float64) string {
	return describeRows(workloadRows(), part, got)
}

func describeRows(rows []workloadRow, part string, got map[string]float64) string {
	var list []string
	for _, row := range rows {
		if key, ok := strings.CutPrefix(row.key, part+"/"); ok {
			if value, ok := got[key]; ok {
				list = append(list, fmt.Sprintf("%s %s %s", row.label, formatFigure(value), row.unit))
			}
		}
	}
	return strings.Join(list, "; ")
}

func formatWorkloads(o options, contestants []workloadContestant, values workloadValues) string {
	header, first := []string{""}, contestants[0].name
	for _, c := range contestants {
		header = append(header, c.name)
	}
	for _, c := range contestants[1:] {
		header = append(header, first+" / "+c.name)
	}
	var rows [][]string
	for _, row := range workloadRows() {
		text, found := []string{row.label + ", " + row.unit}, false
		for _, c := range contestants {
			v := values[c.name][row.key]
			found = found || len(v) > 0
			text = append(text, formatValues(v))
		}
		for _, c := range contestants[1:] {
			text = append(text, formatPairs(values[first][row.key], values[c.name][row.key]))
		}
		if found {
			rows = append(rows, text)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nMedian (min–max) of %s, %s, none discarded; ratios run by run. %d clients create the nodes and the Pods by the API, the scheduler places the Pods, and a watch counts what is Ready. Idle is the second half of %v after that.\n\n%s",
		describeMachine(), countRuns(o.runs), o.workloadOrder(), parallelClients, o.idle.Round(time.Second), markdownTable(header, rows))
	for _, c := range contestants {
		fmt.Fprintf(&b, "- %s: %s\n", c.name, c.description)
	}
	return b.String() + "- " + kwokTargets + "\n"
}

// workloadOrder says in which order the contestants run.
func (o options) workloadOrder() string {
	if o.beside {
		return besideOrder
	}
	return "in turn"
}

func countRuns(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}

// describeMachine says how busy the machine is: figures of a busy one are not comparable.
func describeMachine() string {
	load := "unknown"
	if v, err := loadAverage(); err == nil {
		load = formatFigure(v)
	}
	return fmt.Sprintf("%s; %s; load average at the end %s.", time.Now().UTC().Format("2006-01-02 15:04 MST"), cmp.Or(cpuModel(), "unknown CPU"), load)
}

func formatValues(v []float64) string {
	if len(v) == 0 {
		return "n/a"
	}
	return formatCell(summarize(v), true)
}

// formatPairs formats the ratios of the values of the same run.
func formatPairs(ours, theirs []float64) string {
	var ratios []float64
	for i := range min(len(ours), len(theirs)) {
		if theirs[i] != 0 {
			ratios = append(ratios, ours[i]/theirs[i])
		}
	}
	if len(ratios) == 0 {
		return "n/a"
	}
	s := summarize(ratios)
	if s.min == s.max {
		return fmt.Sprintf("%.2f", s.median)
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", s.median, s.min, s.max)
}
