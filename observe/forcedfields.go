package observe

import (
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// ForcedFields are conflicts that a server-side apply has forced: fields that other field managers had set to other values.
type ForcedFields struct {
	Managers []string `json:"managers"` // that had managed them
	// Fields are the paths of the first of them, cut to 200 bytes each. Values are not recorded, except for the keys of lists.
	Fields []string `json:"fields"`
	// MoreFields is how many other fields there are.
	MoreFields int `json:"moreFields,omitempty"`
}

// How many managers and fields are recorded of an apply, and how long a name or a path is.
const (
	maxForcedManagers = 4
	maxForcedFields   = 8
	maxForcedField    = 200
)

// forcedApply is what was noted of the call that the calling goroutine serves.
type forcedApply struct {
	object Written
	fields *ForcedFields
}

// ForceConflicts says that the call is a server-side apply that forces conflicts. It must precede Serve.
func (s *ServedCall) ForceConflicts() { s.run.forces = true }

// NoteForced notes the conflicts that the call which the calling goroutine serves forces if the storage writes an object. find, which
// returns that without a version, the managers and the fields, is called only for a recorded apply that forces conflicts. A
// repeated attempt of the call replaces the one before.
func NoteForced(find func() (object Written, managers, fields []string)) {
	s := currentScope()
	if s == nil || s.call == nil || !s.call.forces {
		return
	}
	object, managers, fields := find()
	if len(fields) == 0 {
		s.call.forced.Store(nil)
		return
	}
	f := &ForcedFields{MoreFields: max(len(fields)-maxForcedFields, 0)}
	for _, m := range managers[:min(len(managers), maxForcedManagers)] {
		f.Managers = append(f.Managers, words.Cut(m, maxForcedField))
	}
	for _, path := range fields[:min(len(fields), maxForcedFields)] {
		f.Fields = append(f.Fields, words.Cut(path, maxForcedField))
	}
	s.call.forced.Store(&forcedApply{object, f})
}

// forcedWith returns what was noted for a version that the storage has written.
func (c *callRun) forcedWith(w Written) *ForcedFields {
	noted := c.forced.Load()
	if noted == nil || w.Resource != noted.object.Resource || w.Namespace != noted.object.Namespace || w.Name != noted.object.Name {
		return nil
	}
	return noted.fields
}

// Forced returns the conflicts that the call has forced; nil if none.
func (c *Called) Forced() *ForcedFields {
	if i := slices.IndexFunc(c.Wrote, func(w Written) bool { return w.Forced != nil }); i >= 0 {
		return c.Wrote[i].Forced
	}
	return nil
}
