package live

import (
	"github.com/ctrlplane/ctrlplane/observe"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// addObjectDetails adds the details of an object as the API server returned them.
func (m model) addObjectDetails(s *detailBuilder, sc screen) {
	found := sc.inspection
	switch {
	case m.past != nil:
		s.addField("", "A recording has the activity of objects, not the objects: t shows what it set off, w what led to it.")
		return
	case m.inspector == nil:
		s.addField("", "This source provides no objects, only activity.")
		return
	case found == nil && sc.inspectError == "":
		s.addField("", "loading"+m.theme.ellipsis())
		return
	case sc.inspectError != "":
		s.addEntry("", 0, styledLine(sc.inspectError, bad))
	}
	if found == nil {
		return
	}
	if found.Gone {
		s.addEntry("", 0, styledLine("the object does not exist now", caution))
	}
	if l := sc.listed; l != nil {
		_, st := healthMark(l.Health)
		s.addEntry("health", 0, styledLine(words.OneLine(string(l.Health))+" when it was listed", st))
		s.addField("reason", words.OneLine(l.Reason))
	}
	o := found.Object
	s.addField("resource", words.OneLine(o.GroupResource()))
	s.addField("uid", words.OneLine(o.UID))
	m.addLinks(s, "owner", found.Owners)
	m.addLinks(s, "dependents", found.Dependents)
	if !sc.yaml {
		if found.YAML != "" {
			s.addEntry("YAML", 0, line{{"press ", faint}, {"e", strong}, {" to show", faint}})
		}
		return
	}
	s.addLine(nil)
	for _, l := range sc.manifest {
		s.addLine(l)
	}
}

func yamlLines(yaml string) []line {
	var lines []line
	for _, l := range words.Lines(yaml) {
		lines = append(lines, styleYAMLLine(l))
	}
	return lines
}

// addLinks adds objects that the user can open.
func (m model) addLinks(s *detailBuilder, label string, objects []observe.Object) {
	if len(objects) == 0 {
		s.addEntry(label, 0, styledLine("none", faint))
	}
	for i, o := range objects {
		s.addEntry(label, i, styledLine(objectName(o), accent))
		s.lines[len(s.lines)-1].object = &objects[i]
	}
}

// styleYAMLLine highlights the key of a line.
func styleYAMLLine(l string) line {
	for i := range len(l) {
		if l[i] == ':' && (i+1 == len(l) || l[i+1] == ' ') {
			return line{{l[:i+1], accent}, {l[i+1:], plain}}
		}
		if l[i] == '"' || l[i] == '\'' {
			break
		}
	}
	return styledLine(l, plain)
}
