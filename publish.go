package ctrlplane

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/kubeconfig"
)

// Names of files in the data folder.
const (
	KubeconfigFile = "kubeconfig"
	LogFile        = "ctrlplane.log"
)

// clearAddress takes the last run's address out of the state: other verbs would
// take this one for reachable before it is.
func (p *controlPlane) clearAddress() error {
	state, err := p.dir.State()
	if err != nil || state.Server == "" {
		return err
	}
	state.Server = ""
	return p.dir.SaveState(state)
}

// publishKubeconfig leaves in the data folder what others need to find this control
// plane: its kubeconfig, and its state for the next start and for other verbs.
func (p *controlPlane) publishKubeconfig(context.Context) error {
	name := cmp.Or(p.config.Name, "ctrlplane")
	cfg := kubeconfig.New(name, p.url, p.certs.CAPEM, p.certs.AdminCertPEM, p.certs.AdminKeyPEM)
	if err := kubeconfig.Write(p.dir.Join(KubeconfigFile), cfg); err != nil {
		return err
	}
	u, err := url.Parse(p.url)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return err
	}
	state := datadir.State{Name: name, Port: port, Server: p.url, StartedAt: time.Now(), KubernetesVersion: KubernetesVersion}
	if err := p.dir.SaveState(state); err != nil {
		return err
	}
	p.kubeconfig = cfg
	return nil
}
