package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// kwokctlPrograms are what a cluster of kwokctl consists of, and kwokctl itself.
func kwokctlPrograms() []string {
	return []string{"kwokctl", "kwok", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", kubectl}
}

// kwokctlConfig keeps all servers on loopback addresses, whose default is every address.
const kwokctlConfig = `apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokctlConfiguration
options:
  bindAddress: 127.0.0.1
`

// newKwokctlContestant returns the contestant of upstream's programs as kwokctl runs them,
// without limits on the rate of requests.
func (o options) newKwokctlContestant() workloadContestant {
	return workloadContestant{
		name:        "kwokctl",
		description: "kwokctl create cluster --runtime binary --disable-qps-limits, with upstream's programs of the same release",
		needs:       kwokctlPrograms(),
		launch:      o.launchKwokctl,
	}
}

// launchKwokctl creates a cluster and returns when its processes have started.
func (o options) launchKwokctl(ctx context.Context, r *workDir) (*controlPlane, error) {
	port, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(r.join("kwokctl.yaml"), []byte(kwokctlConfig), 0o600); err != nil {
		return nil, err
	}
	folder := r.join("clusters", "bench")
	args := []string{
		"--name=bench", "--config=" + r.join("kwokctl.yaml"), "create", "cluster",
		"--runtime=binary", "--disable-qps-limits", "--wait=0s",
		"--kube-apiserver-port=" + port[0], "--kubeconfig=" + r.join("kubeconfig"),
	}
	for flag, program := range map[string]string{
		"etcd": "etcd", "kube-apiserver": "kube-apiserver", "kube-controller-manager": "kube-controller-manager",
		"kube-scheduler": "kube-scheduler", "kwok-controller": "kwok",
	} {
		args = append(args, "--"+flag+"-binary="+filepath.Join(o.upstream, program+exe))
	}
	p := &controlPlane{began: time.Now(), url: "https://127.0.0.1:" + port[0], certs: func() string { return filepath.Join(folder, "pki") }}
	if err := o.runKwokctl(ctx, r, args...); err != nil {
		return nil, errors.Join(fmt.Errorf("kwokctl create cluster: %w", err), o.deleteKwokctl(r))
	}
	p.detached, err = detachedProcesses(filepath.Join(folder, "pids"))
	p.remove = func() error { return o.deleteKwokctl(r) }
	if err != nil {
		return nil, errors.Join(err, p.remove())
	}
	return p, nil
}

// deleteKwokctl ends the processes of a cluster, also when the bench is interrupted.
func (o options) deleteKwokctl(r *workDir) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := o.runKwokctl(ctx, r, "--name=bench", "delete", "cluster"); err != nil {
		return fmt.Errorf("kwokctl delete cluster: %w", err)
	}
	return nil
}

func (o options) runKwokctl(ctx context.Context, r *workDir, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(o.upstream, "kwokctl"+exe), args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "KWOK_WORKDIR="+r.dir, "HOME="+r.dir, "PATH="+o.upstream+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Stdout, cmd.Stderr = r.log, r.log
	return cmd.Run()
}

// detachedProcesses reads the process IDs that kwokctl has written.
func detachedProcesses(dir string) ([]int, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.pid"))
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		pids = append(pids, pid)
	}
	if len(pids) == 0 {
		return nil, fmt.Errorf("no process IDs in %s", dir)
	}
	return pids, nil
}
