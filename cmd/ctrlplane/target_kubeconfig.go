package main

import (
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/term"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/limitread"
)

// apiServer tells API servers apart: a later one may have the address of one that has ended.
type apiServer struct{ address, ca string }

// folderOfKubeconfig is the data folder of the control plane that kubectl would use: its API server is that of the current
// context of the files in KUBECONFIG. They may be a ServiceAccount's, or a copy.
func folderOfKubeconfig(*target) (string, error) {
	files := filepath.SplitList(os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	wanted := currentServer(files)
	if wanted.ca == "" {
		return "", nil
	}
	var dirs []string
	for _, file := range files { // first: another folder may be a copy, and that of a --data-dir is in no list
		if dir, err := filepath.Abs(filepath.Dir(file)); err == nil && datadir.Exists(dir) {
			dirs = append(dirs, dir)
		}
	}
	others, err := dataDirs()
	if err != nil {
		return "", err
	}
	dirs = append(dirs, others...)
	i := slices.IndexFunc(dirs, func(dir string) bool {
		return currentServer([]string{filepath.Join(dir, ctrlplane.KubeconfigFile)}) == wanted
	})
	if i < 0 {
		return "", nil
	}
	return dirs[i], nil
}

// currentServer returns the API server of the current context of kubeconfig files, merged as kubectl merges them. It is
// empty if they cannot be read, or only once.
func currentServer(files []string) apiServer {
	if len(files) == 0 || slices.ContainsFunc(files, limitread.IsStream) {
		return apiServer{}
	}
	cfg, err := (&clientcmd.ClientConfigLoadingRules{Precedence: files}).Load()
	if err != nil {
		return apiServer{}
	}
	context := cfg.Contexts[cfg.CurrentContext]
	if context == nil || cfg.Clusters[context.Cluster] == nil {
		return apiServer{}
	}
	cluster := cfg.Clusters[context.Cluster]
	return apiServer{cluster.Server, string(cluster.CertificateAuthorityData)}
}

// noteKubeconfig says on a terminal which control plane KUBECONFIG has selected. Programs that read stderr have set it
// themselves.
func (t *target) noteKubeconfig(c candidate) {
	if !c.target().isDefault() && term.IsTerminal(int(stderr.Fd())) {
		t.noteChoice(c, "as KUBECONFIG selects it")
	}
}
