package ctrlplanetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane/internal/childproc"
)

// programEnv names the program where Binary.Path does not.
const programEnv = "CTRLPLANE"

// Binary runs an installed ctrlplane program, as a child of this process.
type Binary struct {
	// Path is that of the program; empty = $CTRLPLANE, or ctrlplane in PATH.
	Path string
	// Flags are further ones of "ctrlplane up", such as --node-zones=3.
	Flags []string
}

// Start implements Backend.
func (b Binary) Start(ctx context.Context, o Options) (Instance, error) {
	path, err := b.findProgram()
	if err != nil {
		return nil, err
	}
	p, err := startProcess(path, append(upFlags(o), b.Flags...))
	if err != nil {
		return nil, err
	}
	if err := p.awaitReady(ctx); err != nil {
		closeErr := p.Close()
		switch said := p.stderr.lastLine(); {
		case errors.Is(err, errProcessEnded): // it says why
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
		return "", fmt.Errorf("there is no program %s in PATH, and $%s names none: install it with %q", programName, programEnv, installCommand)
	}
	return "", fmt.Errorf("%s is no program that can be run: %w: install one with %q", from, err, installCommand)
}

// upFlags are those that say what o says.
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
	if o.Records != 0 {
		add("observe-records", strconv.Itoa(o.Records))
	}
	add("controllers", strings.Join(o.Controllers, ","))
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

// awaitReady returns when the process has said that its control plane is ready.
func (p *process) awaitReady(ctx context.Context) error {
	var line []byte
	select {
	case line = <-p.first.line:
	case <-p.done:
		return p.explainUnknownVerb(p.exitError("did not start"))
	case <-ctx.Done():
		return fmt.Errorf("%s is not ready: %w", p.cmd.Path, context.Cause(ctx))
	}
	var ready childproc.ReadyMessage
	if err := json.Unmarshal(line, &ready); err != nil {
		return fmt.Errorf("%s does not say what it should, but %q: is that ctrlplane?", p.cmd.Path, truncate(line))
	}
	if ready.Protocol != childproc.ProtocolVersion {
		return fmt.Errorf("%s is version %s and speaks protocol %d, these tests speak %d: install the version of ctrlplane that go.mod requires", p.cmd.Path, ready.Version, ready.Protocol, childproc.ProtocolVersion)
	}
	config, err := clientcmd.BuildConfigFromFlags("", ready.Kubeconfig)
	if err != nil {
		return fmt.Errorf("kubeconfig of %s: %w", p.cmd.Path, err)
	}
	config.QPS = -1
	p.dataDir, p.config = ready.DataDir, config
	return nil
}

// explainUnknownVerb explains why a program does not know the verb.
func (p *process) explainUnknownVerb(err error) error {
	if strings.Contains(err.Error(), "unknown verb") {
		return fmt.Errorf("%s is too old for these tests: install the version of ctrlplane that go.mod requires: %w", p.cmd.Path, err)
	}
	return err
}

// truncate is as much of a line as an error can quote.
func truncate(line []byte) string {
	const most = 80
	if len(line) > most {
		return string(line[:most]) + "…"
	}
	return string(line)
}
