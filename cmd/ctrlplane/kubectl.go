package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/cli"
	"k8s.io/klog/v2"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/plugin"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/useragent"
)

func newKubectlCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [ARG…]",
		Short: "Run kubectl on the control plane",
		Long: `Run the kubectl of this Kubernetes release on the control plane. Flags that select
the control plane come before the verb: "ctrlplane --name demo kubectl get pods".
In a command of "ctrlplane run" it is the control plane of that run, otherwise that of
KUBECONFIG, if that is of a control plane of yours; user and namespace are those of the
administrator's kubeconfig in its data folder. Without all that, a verb that changes
something never uses another one than the default one.

It never uses another cluster or changes your own kubeconfig: plugins and "kubectl config" get the
control plane's, and flags that name another cluster are refused.`,
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
	if !onlyReads(args) {
		t.toChange()
	}
	c, notRunning := t.useKubeconfig(flags)
	pluginRefusal := notRunning
	if c.path != "" {
		notRunning, pluginRefusal = nil, t.checkCurrentContext(c) // what sends no request works, also if it is suspended
	}
	// Plugins and the verbs of "kubectl config" use the variable, not the flags.
	if err := os.Setenv(clientcmd.RecommendedConfigPathEnvVar, *flags.KubeConfig); err != nil {
		return err
	}
	plugins := pluginHandler{kubectl.NewDefaultPluginHandler(plugin.ValidPluginFilenamePrefixes), pluginRefusal}
	cmd := kubectl.NewDefaultKubectlCommandWithArgs(kubectl.KubectlOptions{
		PluginHandler: plugins,
		Arguments:     append([]string{"kubectl"}, args...),
		ConfigFlags:   flags,
		IOStreams:     genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
	})
	prepare := cmd.PersistentPreRunE
	cmd.PersistentPreRunE = func(verb *cobra.Command, args []string) error {
		if err := checkKubectlVerb(cmd, verb, c, notRunning); err != nil {
			printError(err)
			exit(exitCode(err)) // kubectl would print its help
		}
		return prepare(verb, args)
	}
	explainOwnFlags(cmd, args)
	cmd.SetArgs(args)
	if err := cli.RunNoErrOutput(cmd); err != nil {
		cmdutil.CheckErr(err)
	}
	return nil
}

// useKubeconfig makes kubectl use the context of the running control plane in the kubeconfig of its data folder, and
// returns that control plane. If none is running, it returns why, and kubectl gets an empty kubeconfig; if it is suspended, or the file
// is not of it, it returns that, too. Requests are refused then: verbs that need no server work.
func (t *target) useKubeconfig(flags *genericclioptions.ConfigFlags) (c candidate, notAnswering error) {
	c, err := t.running()
	if err != nil {
		path, server, token := os.DevNull, "https://127.0.0.1:0", "none"
		flags.KubeConfig, flags.APIServer, flags.BearerToken = &path, &server, &token // without a token kubectl asks for a password
		refuseRequests(flags, func(*rest.Config) error { return err })
		return candidate{}, err
	}
	path := c.kubeconfig()
	flags.KubeConfig = &path
	context, current, err := t.ownContext(c)
	if err == nil && !current {
		flags.Context = &context
	}
	if err == nil {
		err = rejectSuspended(c.path)
	}
	refuseRequests(flags, func(cfg *rest.Config) error {
		if err != nil {
			return err
		}
		return c.checkServer(cfg)
	})
	return c, err
}

// refuseRequests makes kubectl exit in one line after a request to a server that check rejects.
func refuseRequests(flags *genericclioptions.ConfigFlags, check func(*rest.Config) error) {
	refused := &atomic.Pointer[error]{}
	flags.WithWrapConfigFn(func(cfg *rest.Config) *rest.Config {
		if err := check(cfg); err != nil {
			klog.SetLogger(logr.Discard()) // discovery would log each of its attempts
			cfg.Wrap(func(http.RoundTripper) http.RoundTripper { return refusingTransport{err, refused} })
			return cfg
		}
		// kubectl's limit of 5 requests/s protects shared servers; this one is not shared.
		cfg.QPS, cfg.UserAgent = -1, useragent.Of("kubectl")
		joinSync(cfg)
		return cfg
	})
	cmdutil.BehaviorOnFatal(func(msg string, code int) {
		if why := refused.Load(); why != nil {
			printError(*why)
		} else if msg = strings.TrimSuffix(msg, "\n"); msg != "" {
			fmt.Fprintln(stderr, msg)
		}
		exit(code)
	})
}

// refusingTransport fails every request.
type refusingTransport struct {
	err     error
	refused *atomic.Pointer[error] // set by a request
}

func (r refusingTransport) RoundTrip(*http.Request) (*http.Response, error) {
	r.refused.Store(&r.err)
	return nil, r.err
}

// checkKubectlVerb rejects what would use or change something else than the control plane,
// which is c.
func checkKubectlVerb(kubectl, verb *cobra.Command, c candidate, notRunning error) error {
	if f := kubectl.PersistentFlags().Lookup("server"); f != nil && f.Changed { // some verbs have a --server of their own
		return otherClusterError(f.Name)
	}
	f := verb.Flag("kubeconfig") // also that of "kubectl config"
	given := f != nil && f.Changed
	if parent := verb.Parent(); notRunning != nil && (given || parent != nil && parent.Name() == "config") {
		return notRunning
	}
	if given && !c.isFor(f.Value.String()) {
		return otherClusterError(f.Name)
	}
	if context := kubectl.PersistentFlags().Lookup("context"); given && context != nil && !context.Changed {
		return context.Value.Set("") // that of useKubeconfig is of the other file
	}
	return nil
}

func otherClusterError(flag string) error {
	return usage.Errorf(`kubectl --%s: "ctrlplane kubectl" only talks to the control plane: leave the flag out, or use your own kubectl`, flag)
}

// pluginHandler runs plugins only with the kubeconfig of a control plane: otherwise they would use another cluster.
type pluginHandler struct {
	kubectl.PluginHandler
	refusal error
}

// Execute implements kubectl.PluginHandler.
func (h pluginHandler) Execute(path string, args, env []string) error {
	if h.refusal != nil {
		printError(h.refusal)
		exit(1) // kubectl would print it in another form
	}
	return h.PluginHandler.Execute(path, args, env)
}
