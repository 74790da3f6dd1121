package ctrlplanetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane/internal/childproc"
)

// programEnv names the program if Binary.Path does not.
const programEnv = "CTRLPLANE"

// Binary runs an installed ctrlplane program as a child process.
type Binary struct {
	// Path is the path of the program; empty = $CTRLPLANE, or ctrlplane in PATH.
	Path string
	// Flags are more flags for "ctrlplane up", such as --node-zones=3.
	Flags []string
}

// Start implements Backend.
func (b Binary) Start(ctx context.Context, o Options) (Instance, error) {
	path, err := b.findProgram()
	if err != nil {
		return nil, err
	}
	own := upFlags(o)
	p, err := startProcess(path, slices.Concat(own, b.Flags))
	if err != nil {
		return nil, err
	}
	if err := p.awaitReady(ctx, own); err != nil {
		closeErr := p.Close()
		switch said := p.stderr.lastLine(); {
		case errors.Is(err, errProcessEnded): // the error says why already
		case closeErr != nil && !errors.Is(closeErr, errProcessEnded):
			err = errors.Join(err, closeErr)
		case said != "":
			err = fmt.Errorf("%w: %s", err, said)
		}
		return nil, err
	}
	return p, nil
}

const (
	programName    = "ctrlplane"
	installCommand = "go install github.com/ctrlplane/ctrlplane/cmd/ctrlplane@latest"
)

// findProgram returns the path of the program.
func (b Binary) findProgram() (string, error) {
	name, from := b.Path, "Binary.Path"
	if name == "" {
		name, from = os.Getenv(programEnv), "$"+programEnv
	}
	if name == "" {
		name, from = programName, "PATH"
	}
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path, nil
	case from == "PATH":
		return "", fmt.Errorf("program %s not found in PATH, and $%s is not set: install it with %q", programName, programEnv, installCommand)
	}
	return "", fmt.Errorf("%s is not an executable program: %w: install it with %q", from, err, installCommand)
}

// upFlags returns the flags of "ctrlplane child" for the options.
func upFlags(o Options) []string {
	var list []string
	add := func(name, value string) {
		if value != "" {
			list = append(list, "--"+name+"="+value)
		}
	}
	switch {
	case o.Nodes > 0:
		add("nodes", strconv.Itoa(o.Nodes))
	case o.Nodes < 0:
		add("nodes", "0")
	}
	if o.NoScheduler {
		add("no-scheduler", "true")
	}
	if o.ExcludeStart {
		add("exclude-start", "true")
	}
	if o.Records != 0 {
		add("observe-records", strconv.Itoa(o.Records))
	}
	add("controllers", strings.Join(o.Controllers, ","))
	add("kubernetes", o.Kubernetes)
	add("feature-gates", o.FeatureGates)
	add("runtime-config", o.RuntimeConfig)
	add("log-file", o.LogFile)
	for _, repeated := range []struct {
		name   string
		values []string
	}{
		{"manifests", o.Manifests},
		{"kube-apiserver-arg", o.APIServerArgs},
		{"kube-controller-manager-arg", o.ControllerManagerArgs},
		{"kube-scheduler-arg", o.SchedulerArgs},
	} {
		for _, v := range repeated.values {
			add(repeated.name, v)
		}
	}
	return list
}

// awaitReady returns when the process reports that its control plane is ready. own are those of its
// flags that the options made.
func (p *process) awaitReady(ctx context.Context, own []string) error {
	var line []byte
	select {
	case line = <-p.first.line:
	case <-p.done:
		return p.explainOldProgram(p.exitError("did not start"), own)
	case <-ctx.Done():
		return fmt.Errorf("%s is not ready: %w", p.cmd.Path, context.Cause(ctx))
	}
	var ready childproc.ReadyMessage
	if err := json.Unmarshal(line, &ready); err != nil {
		return fmt.Errorf("%s: unexpected output %q: is this ctrlplane?", p.cmd.Path, truncate(line))
	}
	if ready.Protocol != childproc.ProtocolVersion {
		return fmt.Errorf("%s is version %s with protocol %d, the tests need protocol %d: install the version of ctrlplane that go.mod requires", p.cmd.Path, ready.Version, ready.Protocol, childproc.ProtocolVersion)
	}
	config, err := clientcmd.BuildConfigFromFlags("", ready.Kubeconfig)
	if err != nil {
		return fmt.Errorf("kubeconfig of %s: %w", p.cmd.Path, err)
	}
	config.QPS = -1
	p.dataDir, p.config = ready.DataDir, config
	return nil
}

// explainOldProgram adds an advice to the error of a program that does not know what the tests ask for.
func (p *process) explainOldProgram(err error, own []string) error {
	text := err.Error()
	isUnknown := func(flag string) bool {
		name, _, _ := strings.Cut(flag, "=")
		return strings.Contains(text, "unknown flag: "+name+":")
	}
	if strings.Contains(text, "unknown verb") || slices.ContainsFunc(own, isUnknown) {
		return fmt.Errorf("%s is too old for these tests: install the version of ctrlplane that go.mod requires: %w", p.cmd.Path, err)
	}
	return err
}

// truncate shortens a line for an error message.
func truncate(line []byte) string {
	const most = 80
	if len(line) > most {
		return string(line[:most]) + "…"
	}
	return string(line)
}
