package ctrlplane

import (
	"context"
	"net/url"
	"strconv"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/kubeconfig"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// Names of files in the data folder.
const (
	KubeconfigFile = "kubeconfig"
	LogFile        = "ctrlplane.log"
)

// beginState removes the address of the last start from the state, or other commands
// would try to connect there before the API server is ready. From now on they see
// whether the control plane is private.
func (p *controlPlane) beginState(last datadir.State) error {
	if last.Server == "" && last.Private == p.config.Private {
		return nil
	}
	last.Name, last.Private, last.Server = p.config.Name, p.config.Private, ""
	return p.dir.SaveState(last)
}

// contextName is what the kubeconfig calls the context, the cluster and the user.
func (p *controlPlane) contextName() string {
	if p.config.Name == "" {
		return "ctrlplane"
	}
	return datadir.ContextName(p.config.Name)
}

// programWord is how a command line for this control plane begins.
func (p *controlPlane) programWord() string {
	name, dir := p.config.Name, p.dir.Path()
	ofName, err := datadir.Path(name, "")
	switch {
	case name == "", !p.dir.Ephemeral() && (err != nil || ofName != dir):
		return "ctrlplane --data-dir " + words.Path(dir)
	case name == "default":
		return "ctrlplane"
	}
	return "ctrlplane --name " + name
}

func (p *controlPlane) createKubeconfig(context.Context) error {
	p.kubeconfig = kubeconfig.New(p.contextName(), p.url, p.certs.CAPEM, p.certs.AdminCertPEM, p.certs.AdminKeyPEM)
	kubeconfig.NoteDataDir(p.kubeconfig, p.dir.Path())
	return nil
}

// publishKubeconfig writes into the data folder what other processes need to connect:
// the kubeconfig, and the state for other commands and for the next start.
func (p *controlPlane) publishKubeconfig(context.Context) error {
	if err := kubeconfig.Write(p.dir.Join(KubeconfigFile), p.kubeconfig); err != nil {
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
	state, err := p.dir.State()
	if err != nil {
		return err
	}
	state.Name, state.Private, state.Port, state.Server, state.StartedAt = p.config.Name, p.config.Private, port, p.url, p.began
	state.CtrlplaneVersion, state.KubernetesVersion, state.EmulatedVersion = Version(), KubernetesVersion, p.emulatedVersion()
	if state.LogFile, err = p.foreignLogPath(); err != nil {
		return err
	}
	state.EtcdCluster = !p.usesEmbeddedEtcd()
	state.EmbeddedEtcd = state.EmbeddedEtcd || p.usesEmbeddedEtcd() // kept beside a cluster's
	return p.dir.SaveState(state)
}

func (p *controlPlane) loadManifests(ctx context.Context) (err error) {
	p.manifests, err = manifests.LoadAll(ctx, p.config.Manifests, p.config.ManifestTexts)
	for _, line := range manifests.Duplicates(p.manifests) {
		p.warn(line)
	}
	return err
}

func (p *controlPlane) applyManifests(ctx context.Context) error {
	_, err := manifests.Apply(ctx, p.adminConfig(), p.manifests)
	p.manifests = nil // they have the texts of their files
	return err
}
