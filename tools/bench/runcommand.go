package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// measureRunCommand measures "ctrlplane run" with commands that take almost no time.
func (m *measurement) measureRunCommand(ctx context.Context, _ *apiClient) error {
	for _, t := range []struct {
		key     string
		command []string
	}{
		{"runTrue", []string{"true"}},
		{"runKubectl", []string{m.kubectlPath(), "get", "ns"}},
	} {
		if _, err := exec.LookPath(t.command[0]); err != nil {
			if t.command[0] == "true" {
				continue // the system does not have it
			}
			return err
		}
		cmd := m.workDir.command(m.ctrlplane, append([]string{"run", "--"}, t.command...)...)
		began := time.Now()
		if err := runCommand(ctx, cmd); err != nil {
			return fmt.Errorf("run -- %s: %w", filepath.Base(t.command[0]), err)
		}
		m.recordSeconds(t.key, time.Since(began))
	}
	return nil
}

func (o options) kubectlPath() string { return filepath.Join(o.upstream, kubectl+exe) }

// runKubectl runs kubectl with an empty cache.
func (m *measurement) runKubectl(ctx context.Context, config string, args ...string) error {
	cache, err := os.MkdirTemp(m.workDir.dir, "cache-")
	if err != nil {
		return err
	}
	var text strings.Builder
	cmd := m.workDir.command(m.kubectlPath(), append([]string{"--kubeconfig", config, "--cache-dir", cache}, args...)...)
	cmd.Stdout, cmd.Stderr = nil, &text
	if err := runCommand(ctx, cmd); err != nil {
		return fmt.Errorf("%w: %s", err, strings.Join(strings.Fields(text.String()), " "))
	}
	return nil
}

// runCommand runs a command to its end. When ctx ends, it kills the process group.
func runCommand(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		killGroup(cmd.Process)
		<-ended //nolint:errcheck // it was killed
		return context.Cause(ctx)
	}
}
