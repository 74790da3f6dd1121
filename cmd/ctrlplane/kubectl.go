package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/plugin"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/ctrlplane/ctrlplane"
)

func newKubectlCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [ARG…]",
		Short: "Run kubectl on the control plane",
		Long: `Run the kubectl of this Kubernetes release on the control plane. Flags that select
the control plane come before the verb: "ctrlplane --name demo kubectl get pods".
In a command of "ctrlplane run" it is the control plane of that run.`,
		Example: `  ctrlplane kubectl get pods
  ctrlplane kubectl get pods --watch
  ctrlplane kubectl create deployment web --image=nginx --replicas=3`,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			signal.Reset() // kubectl ignores the context; a signal ends it as it ends the real kubectl
			return runKubectl(t, args)
		},
	}
}

// runKubectl does not return if kubectl fails: it exits with kubectl's exit code.
func runKubectl(t *target, args []string) error {
	flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(300).WithDiscoveryQPS(50)
	dir, err := t.runningDataDir()
	if err == nil {
		path := filepath.Join(dir, ctrlplane.KubeconfigFile)
		flags.KubeConfig = &path
		// kubectl's limit of 5 requests/s protects shared servers; this one is not shared.
		flags.WithWrapConfigFn(func(cfg *rest.Config) *rest.Config {
			cfg.QPS, cfg.UserAgent = -1, kubectlUserAgent()
			return cfg
		})
	} else {
		// Verbs that need no server work without a control plane; the others return err.
		server, token := "https://127.0.0.1:0", "none"
		flags.APIServer, flags.BearerToken = &server, &token // without a token kubectl asks for a password
		flags.WithWrapConfigFn(func(cfg *rest.Config) *rest.Config {
			cfg.Wrap(func(http.RoundTripper) http.RoundTripper { return refusingTransport{err} })
			return cfg
		})
	}
	cmd := kubectl.NewDefaultKubectlCommandWithArgs(kubectl.KubectlOptions{
		PluginHandler: kubectl.NewDefaultPluginHandler(plugin.ValidPluginFilenamePrefixes),
		Arguments:     append([]string{"kubectl"}, args...),
		ConfigFlags:   flags,
		IOStreams:     genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
	})
	cmd.SetArgs(args)
	if err := cli.RunNoErrOutput(cmd); err != nil {
		cmdutil.CheckErr(err)
	}
	return nil
}

// kubectlUserAgent returns the user agent that a kubectl of its own has: by its program
// the API server and the users of "ctrlplane clients" know it.
func kubectlUserAgent() string {
	_, rest, _ := strings.Cut(rest.DefaultKubernetesUserAgent(), "/")
	return "kubectl/" + rest
}

// refusingTransport fails every request with the error that no control plane is
// available.
type refusingTransport struct{ err error }

func (r refusingTransport) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("ctrlplane: %w", r.err)
}
