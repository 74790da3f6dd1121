package main

import (
	"fmt"
	"strconv"
	"strings"
)

// cost is what one Pod more costs in a step.
type cost struct{ ms, cpuMS, kib float64 }

// costs are those of the steps.
func (g *growth) costs() []cost {
	list := make([]cost, len(g.Steps))
	before := g.IdleMiB
	for i, s := range g.Steps {
		n := float64(s.Added)
		list[i] = cost{1000 * s.Seconds / n, 1000 * s.CPUSeconds / n, 1024 * (s.MiB - before) / n}
		before = s.MiB
	}
	return list
}

// costKinds are what a Pod costs, each with its place in the picture.
var costKinds = []struct {
	label, unit string
	of          func(cost) float64
}{
	{"time", "ms", func(c cost) float64 { return c.ms }},
	{"CPU", "ms", func(c cost) float64 { return c.cpuMS }},
	{"memory", "KiB", func(c cost) float64 { return c.kib }},
}

// bendsAt is by how much a Pod has to be dearer than in the cheapest step
// before, for the curve to bend there.
const bendsAt = 1.25

// bends says for each kind of cost where it bends.
func (g *growth) bends() string {
	var b strings.Builder
	all := g.costs()
	for _, kind := range costKinds {
		where := "does not bend"
		least := 0.0
		for i, c := range all {
			v := kind.of(c)
			if i > 0 && least > 0 && v > bendsAt*least {
				where = fmt.Sprintf("bends at %d Pods: one more takes %.1f times as much on the way to %d", g.Steps[i-1].Pods, v/least, g.Steps[i].Pods)
				break
			}
			if i == 0 || v < least {
				least = v
			}
		}
		fmt.Fprintf(&b, "- %s %s.\n", kind.label, where)
	}
	return b.String()
}

func (g *growth) report() string {
	header := []string{"Pods", "added", "time, s", "CPU, s", "memory, MiB"}
	for _, kind := range costKinds {
		header = append(header, fmt.Sprintf("%s a Pod, %s", kind.label, kind.unit))
	}
	var rows [][]string
	costs := g.costs()
	for i, s := range g.Steps {
		row := []string{strconv.Itoa(s.Pods), strconv.Itoa(s.Added), figure(s.Seconds), figure(s.CPUSeconds), figure(s.MiB)}
		for _, kind := range costKinds {
			row = append(row, figure(kind.of(costs[i])))
		}
		rows = append(rows, row)
	}
	m := g.Machine
	return fmt.Sprintf("%s, %s/%s, %d CPUs; %s; one control plane, %s MiB without Pods. Deployments of %d replicas, created by %d clients; no nodes.\n"+
		"Time is until all that are added exist, CPU until all statuses say so, memory is RSS %s s later. What a Pod costs is that of the step.\n\n%s\n%s",
		g.StartedAt.Format("2006-01-02 15:04 MST"), m.OS, m.Arch, m.CPUs, g.Versions["ctrlplane"], figure(g.IdleMiB),
		replicasGrown, creators, strconv.FormatFloat(g.IdleSeconds, 'g', -1, 64), table(header, rows), g.bends())
}

// draw is the picture: time and CPU above, memory below, over the Pods.
func (g *growth) draw() string {
	pods := make([]float64, len(g.Steps))
	for i, s := range g.Steps {
		pods[i] = float64(s.Pods)
	}
	lines := make([]line, len(costKinds))
	for i, kind := range costKinds {
		lines[i] = line{label: kind.label}
		for _, c := range g.costs() {
			lines[i].values = append(lines[i].values, kind.of(c))
		}
	}
	p := newPicture(720, 580, "What one Pod more costs, by how many there are")
	p.chart(chart{top: 80, height: 200, title: "ms a Pod", x: pods, lines: lines[:2]})
	p.chart(chart{top: 350, height: 200, title: "KiB a Pod", x: pods, lines: lines[2:]})
	return p.String()
}
