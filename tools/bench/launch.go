package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// launchDurable starts ctrlplane with its data in the working directory.
func (o options) launchDurable(_ context.Context, r *workDir) (*controlPlane, error) {
	return o.launchUp(r, func() string { return r.join("data", "pki") }, "--data-dir", r.join("data"))
}

// launchUnobserved is launchDurable without observation.
func (o options) launchUnobserved(_ context.Context, r *workDir) (*controlPlane, error) {
	return o.launchUp(r, func() string { return r.join("data", "pki") }, "--data-dir", r.join("data"), "--observe-records=-1")
}

// launchEphemeral starts ctrlplane with --ephemeral, in a folder below TMPDIR.
func (o options) launchEphemeral(_ context.Context, r *workDir) (*controlPlane, error) {
	return o.launchUp(r, func() string {
		entries, err := os.ReadDir(r.dir)
		if err != nil {
			return ""
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "ctrlplane-ephemeral-") {
				return r.join(e.Name(), "pki")
			}
		}
		return ""
	}, "--ephemeral")
}

func (o options) launchUp(r *workDir, certs func() string, args ...string) (*controlPlane, error) {
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	binary, err := filepath.Abs(o.ctrlplane)
	if err != nil {
		return nil, err
	}
	// The upstream contestants have no scheduler and no nodes either.
	args = append([]string{"up", "--nodes", "0", "--no-scheduler", "--ui", "none", "--port", ports[0], "--log-file", r.log.Name()}, args...)
	p := &controlPlane{began: time.Now(), url: "https://127.0.0.1:" + ports[0], certs: certs}
	return p, p.startProgram(r, binary, args...)
}

// startAndStopOnce starts ctrlplane for the first time and stops it, so that a restart
// finds the bootstrap objects and a namespace.
func (o options) startAndStopOnce(ctx context.Context, r *workDir) error {
	p, err := o.launchDurable(ctx, r)
	if err != nil {
		return err
	}
	defer p.kill()
	err = p.whileRunning(ctx, startTimeout, func(ctx context.Context) error {
		a, err := p.newAPIClient(ctx)
		if err != nil {
			return err
		}
		defer a.close()
		_, err = a.awaitStart(ctx, p.began, "before")
		return err
	})
	if err != nil {
		return err
	}
	_, err = p.stop(ctx)
	return err
}
