package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// growthResults is the content of the results file of -growth.
type growthResults struct {
	StartedAt   time.Time         `json:"startedAt"`
	Machine     machine           `json:"machine"`
	Versions    map[string]string `json:"versions"`
	IdleSeconds float64           `json:"idleSeconds"`
	Nodes       int               `json:"nodes"`
	IdleMiB     float64           `json:"idleMiB"` // with the nodes, without Pods
	Steps       []growthStep      `json:"steps"`
}

// growthStep adds Pods to those of the step before.
type growthStep struct {
	Pods       int     `json:"pods"` // after the step
	Added      int     `json:"added"`
	Seconds    float64 `json:"seconds"`    // until all added Pods are Ready
	CPUSeconds float64 `json:"cpuSeconds"` // until every Deployment's status counts them
	MiB        float64 `json:"mib"`        // RSS after the idle time that follows
}

const (
	// replicasPerDeployment is the number of replicas of each Deployment.
	replicasPerDeployment = 10
	// deploymentsPerNamespace bounds what upstream goes through in each sync of a Deployment:
	// all ReplicaSets of its namespace.
	deploymentsPerNamespace = 100
)

// parseSizes parses the value of -sizes.
func parseSizes(list string) (sizes []int, err error) {
	last := 0
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n <= last || n%replicasPerDeployment != 0 {
			return nil, usage.Errorf("-sizes: %q: each must be a multiple of %d and greater than the one before", text, replicasPerDeployment)
		}
		sizes, last = append(sizes, n), n
	}
	return sizes, nil
}

// runGrowth creates more and more Pods on the nodes of one control plane.
func runGrowth(ctx context.Context, o options, stdout, progress io.Writer) error {
	o.only, o.parts = "ctrlplane", []string{"start"} // prepareBinaries builds only what these need
	sizes, err := parseSizes(o.sizes)
	if err != nil {
		return err
	}
	if err := o.prepareBinaries(ctx, progress); err != nil {
		return err
	}
	described, err := o.newResults(ctx)
	if err != nil {
		return err
	}
	g := &growthResults{StartedAt: described.StartedAt, Machine: described.Machine, Versions: described.Versions, IdleSeconds: described.IdleSeconds, Nodes: manyNodes}
	err = inWorkDir("growth", func(r *workDir) error { return g.measureSteps(ctx, o, r, sizes, progress) })
	if err != nil {
		return err
	}
	return g.writeFiles(o, stdout)
}

func (g *growthResults) measureSteps(ctx context.Context, o options, r *workDir, sizes []int, progress io.Writer) error {
	p, err := o.launchUp(r, func() string { return r.join("data", "pki") }, "--data-dir", r.join("data"), "--no-scheduler=false")
	if err != nil {
		return err
	}
	defer p.kill()
	m := &measurement{options: o, controlPlane: p, workDir: r, values: map[string]float64{}}
	a, err := m.measureStart(ctx)
	if err != nil {
		return err
	}
	defer a.close()
	prepare := func(ctx context.Context) error {
		if err := m.createNodes(ctx, a, g.Nodes); err != nil {
			return fmt.Errorf("nodes: %w", err)
		}
		return m.measureIdle(ctx)
	}
	if err := p.whileRunning(ctx, o.idle+o.timeout, prepare); err != nil {
		return err
	}
	g.IdleMiB = m.values["rss"]
	last := 0
	for _, size := range sizes {
		fmt.Fprintf(progress, "%d Pods … ", size)
		s := growthStep{Pods: size, Added: size - last}
		err := p.whileRunning(ctx, o.idle+o.timeout, func(ctx context.Context) error { return s.measure(ctx, m, a) })
		if err != nil {
			fmt.Fprintln(progress, "failed")
			return fmt.Errorf("%d Pods: %w", size, err)
		}
		fmt.Fprintf(progress, "%s s, %s s of CPU, %s MiB\n", formatFigure(s.Seconds), formatFigure(s.CPUSeconds), formatFigure(s.MiB))
		g.Steps, last = append(g.Steps, s), size
	}
	_, err = p.stop(ctx)
	return err
}

func (s *growthStep) measure(ctx context.Context, m *measurement, a *apiClient) error {
	cpu := m.controlPlane.startCPUTimer()
	for left := s.Added / replicasPerDeployment; left > 0; left -= deploymentsPerNamespace {
		b := burst{min(left, deploymentsPerNamespace), replicasPerDeployment}
		got, err := b.runUntilReady(ctx, a, fmt.Sprintf("grown-%d-%d", s.Pods, left))
		if err != nil {
			return err
		}
		s.Seconds += got.pods.Seconds()
	}
	used, err := cpu()
	if err != nil {
		return fmt.Errorf("CPU time: %w", err)
	}
	s.CPUSeconds = used.Seconds()
	if err := m.measureIdle(ctx); err != nil {
		return err
	}
	s.MiB = m.values["rss"]
	return nil
}

// writeFiles prints the figures and writes them and the picture to files.
func (g *growthResults) writeFiles(o options, stdout io.Writer) error {
	if _, err := io.WriteString(stdout, g.formatReport()); err != nil {
		return err
	}
	data, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		return err
	}
	figures := strings.TrimSuffix(o.svg, filepath.Ext(o.svg)) + ".json"
	if err := os.WriteFile(figures, append(data, '\n'), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(o.svg, []byte(g.drawCharts()), 0o644); err != nil {
		return err
	}
	if o.doc == "" {
		return nil
	}
	return insertSection(o.doc, "growth", fmt.Sprintf("![The cost of a Pod](%s)\n\n%s", filepath.Base(o.svg), g.formatReport()))
}
