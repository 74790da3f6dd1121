package kubeconfig

import (
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// extensionName is the name of the extension that contains an ownerMark.
const extensionName = "ctrlplane"

// ownerMark is an extension of every context, cluster and user that Merge adds.
type ownerMark struct {
	// Previous is the context that was current before; only on contexts.
	Previous string `json:"previous,omitempty"`
	// Created says that the file did not exist before; only on contexts.
	Created bool `json:"created,omitempty"`
	// DataDir is the data folder of the control plane; only on clusters.
	DataDir string `json:"dataDir,omitempty"`
}

// NoteDataDir notes the data folder of the control plane in all clusters, from which DataDir reads it, also in a copy of the file.
func NoteDataDir(cfg *clientcmdapi.Config, dir string) {
	for _, cluster := range cfg.Clusters {
		m := readOwnerMark(cluster.Extensions)
		m.DataDir = dir
		cluster.Extensions = m.addTo(cluster.Extensions)
	}
}

// DataDir returns the data folder that is noted in a cluster; "" if none is. It may have been moved or deleted since.
func DataDir(cluster *clientcmdapi.Cluster) string { return readOwnerMark(cluster.Extensions).DataDir }

// addTo returns a copy of the extensions with the mark.
func (m ownerMark) addTo(extensions map[string]runtime.Object) map[string]runtime.Object {
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings and a bool
	}
	extensions = maps.Clone(extensions)
	if extensions == nil {
		extensions = map[string]runtime.Object{}
	}
	extensions[extensionName] = &runtime.Unknown{Raw: raw, ContentType: runtime.ContentTypeJSON}
	return extensions
}

func hasMark(extensions map[string]runtime.Object) bool {
	_, ok := extensions[extensionName]
	return ok
}

// readOwnerMark returns the zero mark if there is none, or if it cannot be read.
func readOwnerMark(extensions map[string]runtime.Object) ownerMark {
	var m ownerMark
	if unknown, ok := extensions[extensionName].(*runtime.Unknown); ok {
		if json.Unmarshal(unknown.Raw, &m) != nil {
			return ownerMark{}
		}
	}
	return m
}
