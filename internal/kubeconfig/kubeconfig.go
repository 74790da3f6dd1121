// Package kubeconfig writes the kubeconfig file of a control plane, and merges its context
// into the user's kubeconfig.
//
// The user's files are those that kubectl uses: the list in KUBECONFIG, else
// ~/.kube/config. They are read and replaced, atomically, under the lock that client-go
// uses. The entries that Merge adds have an extension named "ctrlplane"; entries without
// it are never replaced or removed. As with kubectl, a change loses comments.
package kubeconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ctrlplane/ctrlplane/internal/inuse"
	"github.com/ctrlplane/ctrlplane/internal/oneline"
)

// New returns a kubeconfig with one cluster, one user and one context of the given name,
// and the certificates and the key (PEM) inline. They have the extension, too, so that
// Merge recognizes them in files that they were copied to.
func New(name, server string, ca, cert, key []byte) *clientcmdapi.Config {
	cfg := clientcmdapi.NewConfig()
	cluster := clientcmdapi.NewCluster()
	cluster.Server = server
	cluster.CertificateAuthorityData = ca
	user := clientcmdapi.NewAuthInfo()
	user.ClientCertificateData = cert
	user.ClientKeyData = key
	context := clientcmdapi.NewContext()
	context.Cluster = name
	context.AuthInfo = name
	cluster.Extensions = ownerMark{}.addTo(nil)
	user.Extensions = ownerMark{}.addTo(nil)
	context.Extensions = ownerMark{}.addTo(nil)
	cfg.Clusters[name] = cluster
	cfg.AuthInfos[name] = user
	cfg.Contexts[name] = context
	cfg.CurrentContext = name
	return cfg
}

// Write replaces a kubeconfig file atomically, with mode 0600.
func Write(path string, cfg *clientcmdapi.Config) error {
	data, err := clientcmd.Write(*cfg)
	if err != nil {
		return fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	if err := replaceFile(path, data, 0o600, nil, false); err != nil {
		return explainError(path, err)
	}
	return nil
}

// Path returns the file that Merge changes, empty if KUBECONFIG names none.
func Path() string {
	return clientcmd.NewDefaultPathOptions().GetDefaultFilename()
}

// loadFile returns an empty configuration, and no info, if the file does not exist.
func loadFile(path string) (*clientcmdapi.Config, os.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return nil, nil, fmt.Errorf("kubeconfig %s is a link to a file that does not exist: create that file, or name another one in KUBECONFIG", path)
		}
		return clientcmdapi.NewConfig(), nil, nil
	}
	if err != nil {
		return nil, nil, explainError(path, err)
	}
	data, err := inuse.ReadFile(path)
	if err != nil {
		return nil, nil, explainError(path, err)
	}
	cfg, err := clientcmd.Load(data)
	if err != nil {
		return nil, nil, fmt.Errorf("kubeconfig %s does not parse (%w): correct it, or name another file in KUBECONFIG", path, oneline.Error(err))
	}
	return cfg, info, nil
}
