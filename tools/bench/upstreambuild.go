package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// upstreamProgram is an upstream program and its package.
type upstreamProgram struct {
	name, module, pkg string
	// ownModules is set for a program that is built from the versions of its own go.mod,
	// because it needs modules that ours does not.
	ownModules bool
}

const kubectl = "kubectl"

func upstreamPrograms() []upstreamProgram {
	const kubernetes, kwok = "k8s.io/kubernetes", "sigs.k8s.io/kwok"
	return []upstreamProgram{
		{name: "etcd", module: "go.etcd.io/etcd/server/v3", pkg: "go.etcd.io/etcd/server/v3"},
		{name: "kube-apiserver", module: kubernetes, pkg: kubernetes + "/cmd/kube-apiserver"},
		{name: "kube-controller-manager", module: kubernetes, pkg: kubernetes + "/cmd/kube-controller-manager"},
		{name: "kube-scheduler", module: kubernetes, pkg: kubernetes + "/cmd/kube-scheduler"},
		{name: kubectl, module: kubernetes, pkg: kubernetes + "/cmd/kubectl"}, // the client in some parts, for all contestants
		{name: "kwok", module: kwok, pkg: kwok + "/cmd/kwok", ownModules: true},
		{name: "kwokctl", module: kwok, pkg: kwok + "/cmd/kwokctl", ownModules: true},
	}
}

// allUpstream names all programs.
func allUpstream() map[string]bool {
	names := map[string]bool{}
	for _, p := range upstreamPrograms() {
		names[p.name] = true
	}
	return names
}

// buildUpstream builds those of the named programs that are missing in dir, or that
// were built from another version of their module or with another Go version. It runs
// in the working directory, whose go.mod selects the versions.
func buildUpstream(ctx context.Context, dir string, names map[string]bool, progress io.Writer) error {
	dir, err := filepath.Abs(dir) // as GOBIN has to be
	if err != nil {
		return err
	}
	for _, p := range upstreamPrograms() {
		if !names[p.name] {
			continue
		}
		out, err := runGo(ctx, nil, "list", "-m", "-f", "{{.Version}}", p.module)
		if err != nil {
			return err
		}
		version := strings.TrimSpace(string(out))
		path := filepath.Join(dir, p.name+exe)
		current, err := isBuiltFrom(path, version)
		if err != nil {
			return err
		}
		if current {
			continue
		}
		fmt.Fprintf(progress, "building %s %s; this takes minutes the first time\n", p.name, version)
		if err := p.build(ctx, path, version); err != nil {
			return err
		}
	}
	return nil
}

func (p upstreamProgram) build(ctx context.Context, path, version string) error {
	if !p.ownModules {
		_, err := runGo(ctx, nil, "build", "-ldflags", versionLDFlags(version), "-o", path, p.pkg)
		return err
	}
	_, err := runGo(ctx, []string{"GOBIN=" + filepath.Dir(path)}, "install", "-ldflags", "-s -w", p.pkg+"@"+version)
	return err
}

func isBuiltFrom(path, version string) (bool, error) {
	info, err := buildinfo.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w: remove it, and it will be built again", path, err)
	}
	return info.Main.Version == version && info.GoVersion == runtime.Version(), nil
}

// versionLDFlags returns the linker flags of upstream's releases: clients read the version.
func versionLDFlags(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	flags := "-s -w"
	for _, pkg := range []string{"component-base/version", "client-go/pkg/version"} {
		for _, x := range []string{"gitVersion=" + version, "gitMajor=" + major, "gitMinor=" + minor, "gitTreeState=clean"} {
			flags += " -X k8s.io/" + pkg + "." + x
		}
	}
	return flags
}

// runGo runs the go command with additional variables. Its error contains the last line
// of stderr.
func runGo(ctx context.Context, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		lines := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
		return nil, fmt.Errorf("go %s: %w: %s", args[0], err, lines[len(lines)-1])
	}
	return out, err
}
