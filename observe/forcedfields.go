package observe

import (
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// ForcedFields are fields with a conflict that a server-side apply has forced: other field managers had set them to other values.
type ForcedFields struct {
	Managers []string `json:"managers"` // that had managed them
	// Fields are the paths of the first of them, cut to 200 bytes each. Values are not recorded.
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

// NoteForced notes for the call that the calling goroutine serves, if that is recorded, what it takes by force from other field
// managers if the storage writes the object, which is given without a version. A repeated attempt of the call replaces that of
// the one before: fields is then empty if it takes nothing.
func NoteForced(object Written, managers, fields []string) {
	s := currentScope()
	if s == nil || s.call == nil {
		return
	}
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
	if noted == nil {
		return nil
	}
	if w.ResourceVersion = ""; w != noted.object {
		return nil
	}
	return noted.fields
}

// Forced returns what the call has taken by force from other field managers; nil if nothing.
func (c *Called) Forced() *ForcedFields {
	if i := slices.IndexFunc(c.Wrote, func(w Written) bool { return w.Forced != nil }); i >= 0 {
		return c.Wrote[i].Forced
	}
	return nil
}
