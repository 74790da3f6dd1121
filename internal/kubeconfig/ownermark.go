package kubeconfig

import (
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
)

// extensionName is the name of the extension that contains an ownerMark.
const extensionName = "ctrlplane"

// ownerMark is an extension of every context, cluster and user that Merge adds.
type ownerMark struct {
	// Previous is the context that was current before; only on contexts.
	Previous string `json:"previous,omitempty"`
	// Created says that the file did not exist before; only on contexts.
	Created bool `json:"created,omitempty"`
}

// addTo returns a copy of the extensions with the mark.
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
