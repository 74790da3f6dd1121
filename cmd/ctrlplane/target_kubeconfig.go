package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/term"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/kubeconfig"
	"github.com/ctrlplane/ctrlplane/internal/limitread"
	"github.com/ctrlplane/ctrlplane/internal/oneline"
)

const (
	pkiDir = "pki"
	// caLimit is the most that is read of a file with a certificate authority.
	caLimit = 1 << 20
)

// apiServer tells API servers apart. The CA is what counts: a later control plane may have the address of one that has ended,
// and each has several addresses.
type apiServer struct{ address, ca string }

// serverOf is the API server that a client configuration is for.
func serverOf(cfg *rest.Config) apiServer {
	return apiServer{cfg.Host, caOf(cfg.CAData, cfg.CAFile)}
}

// serverOfContext is the API server of a context.
func serverOfContext(cfg *clientcmdapi.Config, name string) apiServer {
	context := cfg.Contexts[name]
	if context == nil || cfg.Clusters[context.Cluster] == nil {
		return apiServer{}
	}
	cluster := cfg.Clusters[context.Cluster]
	return apiServer{cluster.Server, caOf(cluster.CertificateAuthorityData, cluster.CertificateAuthority)}
}

// caOf is a certificate authority; empty if it cannot be read.
func caOf(data []byte, file string) string {
	if len(data) == 0 && file != "" && !limitread.IsStream(file) {
		data, _ = limitread.File(file, caLimit)
	}
	return string(data)
}

// caOfFolder is the certificate authority of the control plane in a data folder. Only ctrlplane writes it, while other
// programs change the kubeconfig: kind adds a cluster to that if KUBECONFIG names it.
func caOfFolder(dir string) string { return caOf(nil, filepath.Join(dir, pkiDir, "ca.crt")) }

// unknownKubeconfigError says that KUBECONFIG seems to be of a control plane, but not of which one.
type unknownKubeconfigError struct{ error }

// folderOfKubeconfig is the data folder of the control plane that kubectl would use: the current context of the files in
// KUBECONFIG has its CA. They may be a ServiceAccount's, or a copy. The error is an [unknownKubeconfigError].
func folderOfKubeconfig(*target) (string, error) {
	files := filepath.SplitList(os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	if len(files) == 0 {
		return "", nil
	}
	cfg, err := readKubeconfig(files)
	if err != nil {
		return "", unknownKubeconfigError{err}
	}
	wanted := serverOfContext(cfg, cfg.CurrentContext)
	if wanted.ca != "" {
		noted := kubeconfig.DataDir(cfg.Clusters[cfg.Contexts[cfg.CurrentContext].Cluster])
		if dirs := foldersOf(wanted, files, noted); len(dirs) == 1 {
			return dirs[0], nil
		} else if len(dirs) > 1 {
			return "", unknownKubeconfigError{fmt.Errorf("several control planes have the CA of its context %q", cfg.CurrentContext)}
		}
	}
	if _, own := datadir.NameOfContext(cfg.CurrentContext); own || datadir.Exists(filepath.Dir(files[0])) {
		return "", unknownKubeconfigError{fmt.Errorf("its context %q is not of a control plane that is known here", cfg.CurrentContext)}
	}
	return "", nil
}

// readKubeconfig merges files as kubectl does. Missing files are an error only if one was in a data folder, which may have been
// deleted with its control plane: others do not exist before the first cluster. So are files that cannot be read.
func readKubeconfig(files []string) (*clientcmdapi.Config, error) {
	missing := 0
	for _, file := range files {
		_, err := os.Stat(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing++
		case file != os.DevNull && limitread.IsStream(file):
			return nil, fmt.Errorf("%s is a pipe or a device, which can be read only once", file)
		}
	}
	i := slices.IndexFunc(files, wasInDataFolder)
	if missing == len(files) && i >= 0 {
		return nil, fmt.Errorf("%s does not exist", files[i])
	}
	cfg, err := (&clientcmd.ClientConfigLoadingRules{Precedence: files}).Load()
	switch {
	case err != nil && i >= 0:
		return nil, oneline.Error(err)
	case err != nil:
		return clientcmdapi.NewConfig(), nil
	}
	return cfg, nil
}

// wasInDataFolder reports whether a file is in a data folder, or was in one that has been deleted.
func wasInDataFolder(file string) bool {
	dir, name := filepath.Split(file)
	isOwn := name == ctrlplane.KubeconfigFile || strings.HasPrefix(name, ctrlplane.KubeconfigFile+".")
	_, err := os.Stat(filepath.Clean(dir))
	return datadir.Exists(filepath.Clean(dir)) || isOwn && errors.Is(err, fs.ErrNotExist)
}

// foldersOf returns the data folders with the CA of the API server. If there are several, one is a copy of another one, or they
// share an etcd cluster, or the user has created the CA: it prefers the folder of a file of KUBECONFIG, then the one with the
// address, and of these the one that runs. noted is the folder that the file names, which need not exist.
func foldersOf(wanted apiServer, files []string, noted string) []string {
	var beside []string
	for _, file := range files {
		if dir, err := filepath.Abs(filepath.Dir(file)); err == nil && datadir.Exists(dir) {
			beside = append(beside, dir)
		}
	}
	others, _ := dataDirs() // without a list the folder of the file is left
	if filepath.IsAbs(noted) && datadir.Exists(noted) {
		others = append(others, noted)
	}
	dirs := slices.DeleteFunc(append(slices.Clone(beside), others...), func(dir string) bool { return caOfFolder(dir) != wanted.ca })
	dirs = distinctFolders(dirs)
	hasAddress := func(dir string) bool {
		state, _, err := datadir.Peek(dir)
		return err == nil && state.Server == wanted.address
	}
	runs := func(dir string) bool {
		_, running, err := datadir.Peek(dir)
		return err == nil && running && hasAddress(dir)
	}
	for _, preferred := range []func(string) bool{func(dir string) bool { return slices.Contains(beside, dir) }, hasAddress, runs} {
		if len(dirs) < 2 {
			break
		}
		if kept := slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return !preferred(dir) }); len(kept) > 0 {
			dirs = kept
		}
	}
	return dirs
}

// distinctFolders leaves out folders that are there under another path, as through a symbolic link, or that cannot be read.
func distinctFolders(dirs []string) (distinct []string) {
	var infos []fs.FileInfo
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err == nil && !slices.ContainsFunc(infos, func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
			infos, distinct = append(infos, info), append(distinct, dir)
		}
	}
	return distinct
}

// rejectUnknownKubeconfig fails for a verb that changes something if KUBECONFIG may be of another control plane; others
// print a warning once.
func (t *target) rejectUnknownKubeconfig(why error) error {
	switch {
	case why == nil || t.quiet && !t.changes:
		return nil
	case t.changes:
		return fmt.Errorf("KUBECONFIG: %w: choose a control plane with --name or --data-dir, or unset KUBECONFIG", why)
	}
	t.unknownNoted.Do(func() { printWarning(fmt.Sprintf("KUBECONFIG selects no control plane: %v", why)) })
	return nil
}

// noteKubeconfig says on a terminal which control plane KUBECONFIG has selected, unless it names the file in the data folder.
// Programs that read stderr have set it themselves.
func (t *target) noteKubeconfig(c candidate) {
	file, err := filepath.Abs(os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	if isOwn := err == nil && filepath.Dir(file) == c.path; !isOwn && !c.target().isDefault() && term.IsTerminal(int(stderr.Fd())) {
		t.noteChoice(c, "as KUBECONFIG selects it")
	}
}
