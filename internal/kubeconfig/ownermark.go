package kubeconfig

import (
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
)

// extensionName is the name under which kubeconfig keeps a mark.
const extensionName = "ctrlplane"

// ownerMark is on every context, cluster and user that Merge adds.
type ownerMark struct {
	// Previous is the context that was current before; on contexts only.
	Previous string `json:"previous,omitempty"`
	// Created tells that the file was not there before; on contexts only.
	Created bool `json:"created,omitempty"`
}

// addTo returns the extensions with the mark among them.
func (m ownerMark) addTo(extensions map[string]runtime.Object) map[string]runtime.Object {
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err) // a string and a bool
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

// readOwnerMark returns the zero mark if there is none that can be read.
func readOwnerMark(extensions map[string]runtime.Object) ownerMark {
	var m ownerMark
	if unknown, ok := extensions[extensionName].(*runtime.Unknown); ok {
		if json.Unmarshal(unknown.Raw, &m) != nil {
			return ownerMark{}
		}
	}
	return m
}
