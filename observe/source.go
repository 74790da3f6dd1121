package observe

import "context"

// Source is an observable control plane or other process, local or remote. Its
// methods are safe for concurrent use.
type Source interface {
	Snapshot(context.Context) (Snapshot, error)
	// Records returns the records that a source keeps. A source without records
	// returns an empty page.
	Records(context.Context, Query) (Page, error)
}

// KeySource is a Source whose snapshots can have more failing keys than the newest of each controller.
type KeySource interface {
	// SnapshotWithKeys is like Snapshot, but Failing has these keys of a controller, too, if they fail.
	SnapshotWithKeys(ctx context.Context, keys ...string) (Snapshot, error)
}

// SnapshotWithKeys takes a snapshot of a source with these failing keys, too, if it is a KeySource.
func SnapshotWithKeys(ctx context.Context, s Source, keys ...string) (Snapshot, error) {
	if k, ok := s.(KeySource); ok {
		return k.SnapshotWithKeys(ctx, keys...)
	}
	return s.Snapshot(ctx)
}

// Inspector is a Source that can also show objects.
type Inspector interface {
	// Inspect returns an inspection together with an error if it is incomplete.
	Inspect(context.Context, Object) (Inspection, error)
}

// Inspection is the current state of an object in the API server.
type Inspection struct {
	Object     Object   `json:"object"`
	YAML       string   `json:"yaml,omitempty"` // without managed fields, the data of Secrets masked
	Owners     []Object `json:"owners,omitempty"`
	Dependents []Object `json:"dependents,omitempty"`
	Gone       bool     `json:"gone,omitempty"` // the object does not exist
}
