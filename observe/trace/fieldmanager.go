package trace

import (
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// managerNote names the field manager of a client's patch of an object, as a server-side apply is one, if that tells something:
// most programs use their own name, and some add what they did.
func (n *Node) managerNote() string {
	program, manager := strings.ToLower(observe.ProgramOf(n.Controller)), strings.ToLower(n.manager)
	if manager == "" || n.Verb != "patch" || n.Subresource != "" || strings.Contains(manager, program) {
		return ""
	}
	return " as field manager " + words.OneLine(n.manager)
}

// describeForced says which fields an apply has taken from other field managers.
func describeForced(f *observe.ForcedFields) string {
	managers := make([]string, len(f.Managers))
	for i, m := range f.Managers {
		managers[i] = words.OneLine(m)
	}
	text := "the apply has forced fields away from field manager"
	if len(managers) > 1 {
		text += "s"
	}
	return text + " " + words.And(managers) + listFields(f.Fields, f.MoreFields)
}
