package main

import (
	"fmt"
	"path/filepath"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// server is the API server of a running control plane.
func (c candidate) server() apiServer { return apiServer{c.state.Server, caOfFolder(c.path)} }

func (c candidate) kubeconfig() string { return filepath.Join(c.path, ctrlplane.KubeconfigFile) }

// ownContext returns the context of the control plane in the kubeconfig of its data folder: the current one, which may be
// the user's for another namespace, or the one that ctrlplane has written. Other programs may have added theirs, or
// changed it.
func (t *target) ownContext(c candidate) (context string, current bool, err error) {
	cfg, err := readKubeconfig([]string{c.kubeconfig()})
	if err != nil {
		return "", false, fmt.Errorf("kubeconfig: %w: %s", err, t.rewriteKubeconfig())
	}
	for _, name := range []string{cfg.CurrentContext, datadir.ContextName(c.state.Name), "ctrlplane"} { // the last has no name, as from a Go program
		if isServerOf(cfg, name, c) {
			return name, name == cfg.CurrentContext, nil
		}
	}
	return "", false, fmt.Errorf("kubeconfig %s was changed, and has no context of this control plane: %s", c.kubeconfig(), t.rewriteKubeconfig())
}

func isServerOf(cfg *clientcmdapi.Config, context string, c candidate) bool {
	return serverOfContext(cfg, context) == c.server()
}

// rewriteKubeconfig says what writes the kubeconfig of the data folder again.
func (t *target) rewriteKubeconfig() string {
	return fmt.Sprintf("stop it with %s and start it again, which writes the file", t.byName().quoteCommand("down"))
}

// checkCurrentContext fails if another program would use another cluster with the kubeconfig of the data folder.
func (t *target) checkCurrentContext(c candidate) error {
	context, current, err := t.ownContext(c)
	if err == nil && !current {
		err = fmt.Errorf("kubeconfig %s was changed: its current context is not of this control plane: select it with %s",
			c.kubeconfig(), t.quoteCommand("kubectl config use-context "+context))
	}
	return err
}

// isFor reports whether kubeconfig files are for the control plane, as those of a lesson are, which have a namespace of
// their own.
func (c candidate) isFor(files ...string) bool {
	cfg, err := readKubeconfig(files)
	return err == nil && isServerOf(cfg, cfg.CurrentContext, c)
}

// checkServer fails for a configuration that is not for the control plane, as with kubectl's --context.
func (c candidate) checkServer(cfg *rest.Config) error {
	insecure := cfg.Insecure && cfg.Host == c.state.Server // --insecure-skip-tls-verify removes the CA
	if serverOf(cfg) != c.server() && !insecure {
		return usage.Errorf(`kubectl: these flags select another cluster, and "ctrlplane kubectl" only talks to the control plane: leave them out, or use your own kubectl`)
	}
	return nil
}
