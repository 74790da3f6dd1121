package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"

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
		Short: "The real kubectl, talking to the control plane",
		Long: `The kubectl of this release, with the control plane as its cluster. Which one
is said before the verb: "ctrlplane --name demo kubectl get pods". In a command
of "ctrlplane run" it is that one's.`,
		Example: `  ctrlplane kubectl create deployment web --image=nginx --replicas=3
  ctrlplane kubectl get pods --watch`,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			signal.Reset() // kubectl heeds no context; a signal ends it as it does elsewhere
			return runKubectl(t, args)
		},
	}
}

// runKubectl does not return from a failure of kubectl: it exits as kubectl does.
func runKubectl(t *target, args []string) error {
	flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(300).WithDiscoveryQPS(50)
	dir, err := t.runningDataDir()
	if err == nil {
		path := filepath.Join(dir, ctrlplane.KubeconfigFile)
		flags.KubeConfig = &path
		// Its 5 requests a second are there for servers that others use, too.
		flags.WithWrapConfigFn(func(cfg *rest.Config) *rest.Config { cfg.QPS = -1; return cfg })
	} else {
		// Verbs that need no server work all the same; the others say why not.
		nowhere, nobody := "https://127.0.0.1:0", "nobody"
		flags.APIServer, flags.BearerToken = &nowhere, &nobody // without a token it asks for a password
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

// refusingTransport answers every request with why there is nobody to ask.
type refusingTransport struct{ err error }

func (r refusingTransport) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("ctrlplane: %w", r.err)
}
