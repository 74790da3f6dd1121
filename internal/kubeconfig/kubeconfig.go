// Package kubeconfig writes kubeconfig files: one of a control plane's own, and
// its context into the user's.
//
// The user's files are those that kubectl would take: the list in KUBECONFIG,
// else ~/.kube/config. They are changed under the lock that client-go uses,
// read and written while it is held, and replaced at once. What Merge adds
// bears an extension named "ctrlplane"; nothing without it is ever replaced or
// removed. As with kubectl, comments do not survive a change.
package kubeconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// New is a kubeconfig of one cluster, one user and one context, all of the
// given name, with the certificates and the key (PEM) inline. They bear the
// extension too, so that Merge knows them in any file that they were copied to.
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

// Write replaces a kubeconfig file at once, with mode 0600.
func Write(path string, cfg *clientcmdapi.Config) error {
	data, err := clientcmd.Write(*cfg)
	if err != nil {
		return fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	if err := replaceFile(path, data, replaceOptions{mode: 0o600}); err != nil {
		return explainError(path, err)
	}
	return nil
}

// Path is the file that Merge would change, empty if KUBECONFIG names none.
func Path() string {
	return clientcmd.NewDefaultPathOptions().GetDefaultFilename()
}

// loadFile returns an empty configuration, and no info, if there is no such file.
func loadFile(path string) (*clientcmdapi.Config, os.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return nil, nil, fmt.Errorf("kubeconfig %s is a link to a file that does not exist: make that file, or name another one in KUBECONFIG", path)
		}
		return clientcmdapi.NewConfig(), nil, nil
	}
	if err != nil {
		return nil, nil, explainError(path, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, explainError(path, err)
	}
	cfg, err := clientcmd.Load(data)
	if err != nil {
		return nil, nil, fmt.Errorf("kubeconfig %s does not parse (%s): correct it, or name another file in KUBECONFIG", path, singleLine(err))
	}
	return cfg, info, nil
}
