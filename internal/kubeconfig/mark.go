package kubeconfig

import (
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
)

// extension is the name under which kubeconfig keeps a mark.
const extension = "ctrlplane"

// mark is on every context, cluster and user that Merge adds.
type mark struct {
	// Previous is the context that was current before; on contexts only.
	Previous string `json:"previous,omitempty"`
	// Created tells that the file was not there before; on contexts only.
	Created bool `json:"created,omitempty"`
}

// on returns the extensions with the mark among them.
func (m mark) on(extensions map[string]runtime.Object) map[string]runtime.Object {
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err) // a string and a bool
	}
	extensions = maps.Clone(extensions)
	if extensions == nil {
		extensions = map[string]runtime.Object{}
	}
	extensions[extension] = &runtime.Unknown{Raw: raw, ContentType: runtime.ContentTypeJSON}
	return extensions
}

func marked(extensions map[string]runtime.Object) bool {
	_, ok := extensions[extension]
	return ok
}

// readMark returns the zero mark if there is none that can be read.
func readMark(extensions map[string]runtime.Object) mark {
	var m mark
	if unknown, ok := extensions[extension].(*runtime.Unknown); ok {
		if json.Unmarshal(unknown.Raw, &m) != nil {
			return mark{}
		}
	}
	return m
}
