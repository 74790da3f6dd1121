// Command bench compares ctrlplane with etcd, kube-apiserver and
// kube-controller-manager, which it builds from the same module graph.
//
// The contestants run in turn, several times (A B A B), each in a folder of its own on
// free loopback ports. No run is discarded, not even the first. The legend below the
// table says how each figure is measured.
//
// Three more contestants measure the cost of observation: ctrlplane with all
// observation off, with all of it on, and with a view attached. Their order is
// reversed in every second round (A B C C B A).
//
// With -growth it measures the cost of a Pod with an increasing number of them, with
// -profile-start the stages of one start.
//
// If a second results file follows -compare as an argument, it runs nothing and
// compares the two.
package main

import (
	"context"
	"io"

	"github.com/ctrlplane/ctrlplane/tools/internal/command"
)

func main() { command.Main("bench", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	var old *results
	if o.compare != "" {
		if old, err = loadResults(o.compare); err != nil {
			return err
		}
	}
	if o.compareWith != "" {
		newer, err := loadResults(o.compareWith)
		if err != nil {
			return err
		}
		_, err = io.WriteString(stdout, compareResults(old, newer))
		return err
	}
	switch {
	case o.build:
		return buildUpstream(ctx, o.upstream, allUpstream(), stderr)
	case o.isWorkloads():
		return runWorkloads(ctx, o, stdout, stderr)
	case o.churn > 0:
		return runChurn(ctx, o, stdout, stderr)
	case o.growth:
		return runGrowth(ctx, o, stdout, stderr)
	case o.profileStart:
		return runStartProfile(ctx, o, stdout)
	}
	res, err := runBenchmark(ctx, o, stderr)
	if res == nil {
		return err
	}
	text := formatReport(res)
	if old != nil {
		text += "\n" + compareResults(old, res)
	}
	if _, werr := io.WriteString(stdout, text); err == nil {
		err = werr
	}
	if err != nil {
		return err // incomplete results must not replace complete ones
	}
	if err := saveResults(o.json, res); err != nil || o.doc == "" {
		return err
	}
	return insertSection(o.doc, "bench", formatReport(res))
}
