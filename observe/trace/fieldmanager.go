package trace

import (
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// managerNote names the field manager of a server-side apply, unless that is the name of the program, as by default with kubectl,
// and with Helm, which writes as helm.
func (n *Node) managerNote() string {
	if n.FieldManager == "" || strings.EqualFold(n.FieldManager, observe.ProgramOf(n.Controller)) {
		return ""
	}
	return " as field manager " + words.OneLine(n.FieldManager)
}

// describeForced says which conflicts an apply has forced.
func describeForced(f *observe.ForcedFields) string {
	managers := make([]string, len(f.Managers))
	for i, m := range f.Managers {
		managers[i] = words.OneLine(m)
	}
	text := "the apply forced conflicts with field manager"
	if len(managers) > 1 {
		text += "s"
	}
	return text + " " + words.And(managers) + listFields(f.Fields, f.MoreFields)
}
