package main

import (
	"fmt"
	"strconv"
	"strings"
)

// podCost is the cost of each added Pod in a step.
type podCost struct{ ms, cpuMS, kib float64 }

// podCosts returns the costs of the steps.
func (g *growthResults) podCosts() []podCost {
	list := make([]podCost, len(g.Steps))
	before := g.IdleMiB
	for i, s := range g.Steps {
		n := float64(s.Added)
		list[i] = podCost{1000 * s.Seconds / n, 1000 * s.CPUSeconds / n, 1024 * (s.MiB - before) / n}
		before = s.MiB
	}
	return list
}

// podCostKinds are the kinds of cost of a Pod.
var podCostKinds = []struct {
	label, unit string
	of          func(podCost) float64
}{
	{"time", "ms", func(c podCost) float64 { return c.ms }},
	{"CPU", "ms", func(c podCost) float64 { return c.cpuMS }},
	{"memory", "KiB", func(c podCost) float64 { return c.kib }},
}

// bendRatio is how much more a Pod must cost than in the cheapest step before for the
// report to say that the curve bends.
const bendRatio = 1.25

// describeBends says for each kind of cost where its curve bends.
func (g *growthResults) describeBends() string {
	var b strings.Builder
	all := g.podCosts()
	for _, kind := range podCostKinds {
		where := "does not bend"
		least := 0.0
		for i, c := range all {
			v := kind.of(c)
			if i > 0 && least > 0 && v > bendRatio*least {
				where = fmt.Sprintf("bends at %d Pods: up to %d, each takes %.1f times as much", g.Steps[i-1].Pods, g.Steps[i].Pods, v/least)
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

func (g *growthResults) formatReport() string {
	header := []string{"Pods", "added", "time, s", "CPU, s", "memory, MiB"}
	for _, kind := range podCostKinds {
		header = append(header, fmt.Sprintf("%s per Pod, %s", kind.label, kind.unit))
	}
	var rows [][]string
	costs := g.podCosts()
	for i, s := range g.Steps {
		row := []string{strconv.Itoa(s.Pods), strconv.Itoa(s.Added), formatFigure(s.Seconds), formatFigure(s.CPUSeconds), formatFigure(s.MiB)}
		for _, kind := range podCostKinds {
			row = append(row, formatFigure(kind.of(costs[i])))
		}
		rows = append(rows, row)
	}
	m := g.Machine
	return fmt.Sprintf("%s, %s/%s, %d CPUs; %s; one control plane with %d simulated nodes, %s MiB without Pods. Deployments with %d replicas, %d in each namespace, created by %d clients.\n"+
		"Time: until all added Pods are Ready. CPU: until all statuses say so. Memory: RSS %s s later. The cost of a Pod is its share of the step.\n\n%s\n%s",
		g.StartedAt.Format("2006-01-02 15:04 MST"), m.OS, m.Arch, m.CPUs, g.Versions["ctrlplane"], g.Nodes, formatFigure(g.IdleMiB),
		replicasPerDeployment, deploymentsPerNamespace, parallelClients, strconv.FormatFloat(g.IdleSeconds, 'g', -1, 64), markdownTable(header, rows), g.describeBends())
}

// drawCharts draws time and CPU, and memory below, over the number of Pods.
func (g *growthResults) drawCharts() string {
	pods := make([]float64, len(g.Steps))
	for i, s := range g.Steps {
		pods[i] = float64(s.Pods)
	}
	lines := make([]chartSeries, len(podCostKinds))
	for i, kind := range podCostKinds {
		lines[i] = chartSeries{label: kind.label}
		for _, c := range g.podCosts() {
			lines[i].values = append(lines[i].values, kind.of(c))
		}
	}
	p := newSVGPicture(720, 580, "Cost of one more Pod by the number of Pods")
	p.drawChart(chart{top: 80, height: 200, title: "ms per Pod", x: pods, series: lines[:2]})
	p.drawChart(chart{top: 350, height: 200, title: "KiB per Pod", x: pods, series: lines[2:]})
	return p.String()
}
