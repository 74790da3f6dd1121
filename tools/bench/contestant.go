package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// contestant is one way to run a control plane.
type contestant struct {
	name     string
	binaries []string
	// prepare fills the folder before the measured start; nil = the folder stays empty.
	prepare func(ctx context.Context, r *workDir) error
	// attachView attaches a view to the control plane; nil = no view.
	attachView func(ctx context.Context, r *workDir) (*attachedView, error)
	// parts are the names of the parts that the contestant supports.
	parts []string
	// launch starts the processes and need not wait until they are ready.
	launch func(ctx context.Context, r *workDir) (*controlPlane, error)
}

// contestantNames returns the names of all contestants in the order of their runs.
func contestantNames() []string {
	return []string{"ctrlplane", "ctrlplane-ephemeral", "ctrlplane-restart", "three", "three-lifted"}
}

func (o options) newContestant(name string) contestant {
	switch name {
	case hooksOff, hooksOn, viewAttached:
		return o.newObservationContestant(name)
	case "ctrlplane":
		return contestant{name: name, parts: allPartsExcept("run"), binaries: []string{o.ctrlplane}, launch: o.launchDurable}
	case "ctrlplane-ephemeral":
		return contestant{name: name, parts: []string{"start", "idle", "first-pod", "pods-1000", "run"}, binaries: []string{o.ctrlplane}, launch: o.launchEphemeral}
	case "ctrlplane-restart":
		return contestant{name: name, parts: []string{"start", "idle"}, binaries: []string{o.ctrlplane}, launch: o.launchDurable, prepare: o.startAndStopOnce}
	case "three-lifted":
		return o.newUpstreamContestant(name, allPartsExcept("run"), "--kube-api-qps=5000", "--kube-api-burst=5000")
	}
	return o.newUpstreamContestant(name, allPartsExcept("run", "pods-5000", "delete-5000")) // these would take most of an hour
}

// allPartsExcept returns the names of the other parts.
func allPartsExcept(names ...string) []string {
	return slices.DeleteFunc(partNames(), func(name string) bool { return slices.Contains(names, name) })
}

// workDir is the folder of one run and the log of all its processes.
type workDir struct {
	dir string
	log *os.File
}

func newWorkDir(parent, name string) (*workDir, error) {
	dir := filepath.Join(parent, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(dir+".log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &workDir{dir: dir, log: log}, nil
}

// inWorkDir measures in a folder, which is removed unless that fails: the error names the log.
func inWorkDir(name string, measure func(r *workDir) error) error {
	parent, err := os.MkdirTemp("", "ctrlplane-bench-")
	if err != nil {
		return err
	}
	r, err := newWorkDir(parent, name)
	if err != nil {
		return err
	}
	if err := measure(r); err != nil {
		return fmt.Errorf("%s: %w: see %s", name, err, r.log.Name())
	}
	return errors.Join(r.close(), os.RemoveAll(parent))
}

func (r *workDir) join(elem ...string) string {
	return filepath.Join(append([]string{r.dir}, elem...)...)
}

// close removes the folder. The log stays.
func (r *workDir) close() error { return errors.Join(r.log.Close(), os.RemoveAll(r.dir)) }

// freePorts returns n different unused ports of 127.0.0.1.
func freePorts(n int) ([]string, error) {
	var ports []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("no free port: %w", err)
		}
		defer l.Close() // at the end, so that all ports differ
		ports = append(ports, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
	return ports, nil
}
