package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// workloadContestant is one way to run Pods on simulated nodes.
type workloadContestant struct {
	name, description string
	needs             []string // upstream programs
	launch            func(ctx context.Context, r *workDir) (*controlPlane, error)
}

func (o options) allWorkloadContestants() []workloadContestant {
	list := []workloadContestant{o.newOwnContestant("ctrlplane", o.ctrlplane, "up --ephemeral: nothing is synced to disk")}
	if o.baseline != "" {
		list = append(list, o.newOwnContestant("baseline", o.baseline, "the same with the binary of -baseline"))
	}
	return append(list, o.newKwokctlContestant())
}

// newOwnContestant returns a contestant that is a binary of ctrlplane.
func (o options) newOwnContestant(name, binary, description string) workloadContestant {
	launch := func(_ context.Context, r *workDir) (*controlPlane, error) {
		of := o
		of.ctrlplane = binary
		return of.launchUp(r, ephemeralCerts(r), "--ephemeral", "--no-scheduler=false")
	}
	return workloadContestant{name: name, description: description, launch: launch}
}

// ephemeralCerts returns where up --ephemeral keeps its certificates.
func ephemeralCerts(r *workDir) func() string {
	return func() string {
		found, err := filepath.Glob(r.join("ctrlplane-ephemeral-*", "pki"))
		if err != nil || len(found) == 0 {
			return "" // not yet
		}
		return found[0]
	}
}

// makePathsAbsolute is for child processes, which have working directories of their own.
func (o *options) makePathsAbsolute() (err error) {
	for _, path := range []*string{&o.ctrlplane, &o.baseline, &o.upstream} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	return nil
}

// prepareWorkloadBinaries builds the programs that are missing.
func (o options) prepareWorkloadBinaries(ctx context.Context, contestants []workloadContestant, progress io.Writer) error {
	build := map[string]bool{}
	for _, c := range contestants {
		for _, name := range c.needs {
			build[name] = true
		}
	}
	for _, path := range []string{o.ctrlplane, o.baseline} {
		if _, err := os.Stat(path); path != "" && err != nil {
			return fmt.Errorf("%w: run \"make build\" first", err)
		}
	}
	return buildUpstream(ctx, o.upstream, build, progress)
}
