package observe

import "context"

// Source is a control plane, or another process, that can be looked at: in this
// process or far away. Its methods may be called by several goroutines.
type Source interface {
	Snapshot(context.Context) (Snapshot, error)
	// Records returns what a source keeps; one that keeps none returns an empty page.
	Records(context.Context, Query) (Page, error)
}

// Inspector is a Source that can also show objects.
type Inspector interface {
	// Inspect may return an inspection and an error: then it is not complete.
	Inspect(context.Context, Object) (Inspection, error)
}

// Inspection is an object as the API server has it now.
type Inspection struct {
	Object     Object   `json:"object"`
	YAML       string   `json:"yaml,omitempty"` // without managed fields, the data of Secrets masked
	Owners     []Object `json:"owners,omitempty"`
	Dependents []Object `json:"dependents,omitempty"`
	Gone       bool     `json:"gone,omitempty"` // there is no such object now
}
