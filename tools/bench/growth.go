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
)

// growth is the content of the file that -growth writes.
type growth struct {
	StartedAt   time.Time         `json:"startedAt"`
	Machine     machine           `json:"machine"`
	Versions    map[string]string `json:"versions"`
	IdleSeconds float64           `json:"idleSeconds"`
	IdleMiB     float64           `json:"idleMiB"` // without any Pod
	Steps       []step            `json:"steps"`
}

// step is the way to so many Pods from the step before.
type step struct {
	Pods       int     `json:"pods"` // at its end
	Added      int     `json:"added"`
	Seconds    float64 `json:"seconds"`    // until all that were added exist
	CPUSeconds float64 `json:"cpuSeconds"` // until every Deployment's status says so
	MiB        float64 `json:"mib"`        // RSS, when it was left alone after that
}

// replicasGrown are those of each Deployment.
const replicasGrown = 10

// sizesOf takes a list of sizes apart.
func sizesOf(list string) (sizes []int, err error) {
	last := 0
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n <= last || n%replicasGrown != 0 {
			return nil, usagef("-sizes: %q: each has to be a multiple of %d and more than the one before", text, replicasGrown)
		}
		sizes, last = append(sizes, n), n
	}
	return sizes, nil
}

// runGrowth fills one control plane with more and more Pods.
func runGrowth(ctx context.Context, o options, stdout, progress io.Writer) error {
	o.only, o.parts = "ctrlplane", []string{"start"} // who is prepared for
	sizes, err := sizesOf(o.sizes)
	if err != nil {
		return err
	}
	if err := o.prepare(ctx, progress); err != nil {
		return err
	}
	described, err := o.describe(ctx)
	if err != nil {
		return err
	}
	g := &growth{StartedAt: described.StartedAt, Machine: described.Machine, Versions: described.Versions, IdleSeconds: described.IdleSeconds}
	parent, err := os.MkdirTemp("", "ctrlplane-bench-")
	if err != nil {
		return err
	}
	r, err := newRoom(parent, "growth")
	if err != nil {
		return err
	}
	if err := g.measure(ctx, o, r, sizes, progress); err != nil {
		return fmt.Errorf("growth: %w: see %s", err, r.log.Name())
	}
	if err := r.close(); err != nil {
		return err
	}
	if err := os.RemoveAll(parent); err != nil {
		return err
	}
	return g.write(o, stdout)
}

func (g *growth) measure(ctx context.Context, o options, r *room, sizes []int, progress io.Writer) error {
	p, err := o.named(ctx, r)
	if err != nil {
		return err
	}
	defer p.kill()
	m := &meter{options: o, plane: p, room: r, values: map[string]float64{}}
	a, err := m.start(ctx)
	if err != nil {
		return err
	}
	defer a.close()
	settle := func(ctx context.Context) error { return m.leaveAlone(ctx) }
	if err := p.within(ctx, o.idle+o.timeout, settle); err != nil {
		return err
	}
	g.IdleMiB = m.values["rss"]
	last := 0
	for _, size := range sizes {
		fmt.Fprintf(progress, "%d Pods … ", size)
		s := step{Pods: size, Added: size - last}
		err := p.within(ctx, o.idle+o.timeout, func(ctx context.Context) error { return s.measure(ctx, m, a) })
		if err != nil {
			fmt.Fprintln(progress, "failed")
			return fmt.Errorf("%d Pods: %w", size, err)
		}
		fmt.Fprintf(progress, "%s s, %s s of CPU, %s MiB\n", figure(s.Seconds), figure(s.CPUSeconds), figure(s.MiB))
		g.Steps, last = append(g.Steps, s), size
	}
	_, err = p.stop(ctx)
	return err
}

func (s *step) measure(ctx context.Context, m *meter, a *api) error {
	cpu := m.plane.stopwatch()
	got, err := burst{s.Added / replicasGrown, replicasGrown}.runIn(ctx, a, fmt.Sprintf("grown-%d", s.Pods))
	if err != nil {
		return err
	}
	used, err := cpu()
	if err != nil {
		return fmt.Errorf("growth needs the CPU time: %w", err)
	}
	s.Seconds, s.CPUSeconds = got.pods.Seconds(), used.Seconds()
	if err := m.leaveAlone(ctx); err != nil {
		return err
	}
	s.MiB = m.values["rss"]
	return nil
}

// write prints the figures, and leaves them and the picture in files.
func (g *growth) write(o options, stdout io.Writer) error {
	if _, err := io.WriteString(stdout, g.report()); err != nil {
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
	if err := os.WriteFile(o.svg, []byte(g.draw()), 0o644); err != nil {
		return err
	}
	if o.doc == "" {
		return nil
	}
	return insert(o.doc, "growth", fmt.Sprintf("![What a Pod costs](%s)\n\n%s", filepath.Base(o.svg), g.report()))
}
