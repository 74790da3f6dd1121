package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
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

	"github.com/ctrlplane/ctrlplane"
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
KUBECONFIG, if that is of a control plane of yours. Without all that, a verb that changes
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
	path, notRunning := t.useKubeconfig(flags)
	if path != os.DevNull {
		notRunning = nil // it is suspended: what sends no request to it works
	}
	// Plugins and the verbs of "kubectl config" use the variable, not the flags.
	if err := os.Setenv(clientcmd.RecommendedConfigPathEnvVar, path); err != nil {
		return err
	}
	plugins := pluginHandler{kubectl.NewDefaultPluginHandler(plugin.ValidPluginFilenamePrefixes), notRunning}
	cmd := kubectl.NewDefaultKubectlCommandWithArgs(kubectl.KubectlOptions{
		PluginHandler: plugins,
		Arguments:     append([]string{"kubectl"}, args...),
		ConfigFlags:   flags,
		IOStreams:     genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
	})
	prepare := cmd.PersistentPreRunE
	cmd.PersistentPreRunE = func(verb *cobra.Command, args []string) error {
		if err := checkKubectlVerb(cmd, verb, path, notRunning); err != nil {
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

// useKubeconfig makes kubectl use the kubeconfig of the running control plane, whose
// path it returns. If none is running, it returns why, and an empty kubeconfig; if it is suspended, it returns that. Requests are
// refused then: verbs that need no server work.
func (t *target) useKubeconfig(flags *genericclioptions.ConfigFlags) (path string, notAnswering error) {
	flags.KubeConfig = &path
	dir, err := t.runningDataDir()
	if err != nil {
		path = os.DevNull
		server, token := "https://127.0.0.1:0", "none"
		flags.APIServer, flags.BearerToken = &server, &token // without a token kubectl asks for a password
		refuseRequests(flags, err)
		return path, err
	}
	path = filepath.Join(dir, ctrlplane.KubeconfigFile)
	if err := rejectSuspended(dir); err != nil {
		refuseRequests(flags, err)
		return path, err
	}
	// kubectl's limit of 5 requests/s protects shared servers; this one is not shared.
	flags.WithWrapConfigFn(func(cfg *rest.Config) *rest.Config {
		cfg.QPS, cfg.UserAgent = -1, useragent.Of("kubectl")
		joinSync(cfg)
		return cfg
	})
	return path, nil
}

// refuseRequests makes kubectl exit with why, in one line, after a request to a server.
func refuseRequests(flags *genericclioptions.ConfigFlags, why error) {
	refused := &atomic.Bool{}
	flags.WithWrapConfigFn(func(cfg *rest.Config) *rest.Config {
		cfg.Wrap(func(http.RoundTripper) http.RoundTripper { return refusingTransport{why, refused} })
		return cfg
	})
	klog.SetLogger(logr.Discard()) // discovery would log each of its attempts
	cmdutil.BehaviorOnFatal(func(msg string, code int) {
		if refused.Load() {
			printError(why)
		} else if msg = strings.TrimSuffix(msg, "\n"); msg != "" {
			fmt.Fprintln(stderr, msg)
		}
		exit(code)
	})
}

// refusingTransport fails every request.
type refusingTransport struct {
	err     error
	refused *atomic.Bool // set by a request
}

func (r refusingTransport) RoundTrip(*http.Request) (*http.Response, error) {
	r.refused.Store(true)
	return nil, r.err
}

// checkKubectlVerb rejects what would use or change something else than the control plane,
// whose kubeconfig is own.
func checkKubectlVerb(kubectl, verb *cobra.Command, own string, notRunning error) error {
	if f := kubectl.PersistentFlags().Lookup("server"); f != nil && f.Changed { // some verbs have a --server of their own
		return otherClusterError(f.Name)
	}
	f := verb.Flag("kubeconfig") // also that of "kubectl config"
	given := f != nil && f.Changed
	if parent := verb.Parent(); notRunning != nil && (given || parent != nil && parent.Name() == "config") {
		return notRunning
	}
	if given && !sameServer(f.Value.String(), own) {
		return otherClusterError(f.Name)
	}
	return nil
}

func otherClusterError(flag string) error {
	return usage.Errorf(`kubectl --%s: "ctrlplane kubectl" only talks to the control plane: leave the flag out, or use your own kubectl`, flag)
}

// sameServer reports whether two kubeconfigs are for the same API server, as those of a
// lesson are, which have a namespace of their own.
func sameServer(a, b string) bool {
	one, err := clientcmd.BuildConfigFromFlags("", a)
	if err != nil {
		return false
	}
	other, err := clientcmd.BuildConfigFromFlags("", b)
	return err == nil && one.Host == other.Host
}

// pluginHandler runs plugins only with a control plane: without one they would use the
// user's own kubeconfig.
type pluginHandler struct {
	kubectl.PluginHandler
	notRunning error
}

// Execute implements kubectl.PluginHandler.
func (h pluginHandler) Execute(path string, args, env []string) error {
	if h.notRunning != nil {
		printError(h.notRunning)
		exit(1) // kubectl would print it in another form
	}
	return h.PluginHandler.Execute(path, args, env)
}
