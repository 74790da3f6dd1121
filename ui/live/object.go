package live

import "github.com/ctrlplane/ctrlplane/observe"

// objectDetails tells what the API server says of an object.
func (m model) objectDetails(s *sheet, sc screen) {
	found := sc.found
	switch {
	case m.inspector == nil:
		s.field("", "Nothing but its activity is known here.")
		return
	case found == nil && sc.notFound == "":
		s.field("", "asking for it"+m.theme.tail())
		return
	case sc.notFound != "":
		s.entry("", 0, text(sc.notFound, bad))
	}
	if found == nil {
		return
	}
	if found.Gone {
		s.entry("", 0, text("there is no such object now", caution))
	}
	o := found.Object
	s.field("resource", clean(resource(o)))
	s.field("uid", clean(o.UID))
	m.links(s, "owner", found.Owners)
	m.links(s, "dependents", found.Dependents)
	if !sc.yaml {
		if found.YAML != "" {
			s.entry("YAML", 0, line{{"y", strong}, {" shows it", faint}})
		}
		return
	}
	s.add(nil)
	for _, l := range sc.manifest {
		s.add(l)
	}
}

func yamlLines(yaml string) []line {
	var lines []line
	for _, l := range cleanLines(yaml) {
		lines = append(lines, yamlLine(l))
	}
	return lines
}

// links adds objects that enter opens.
func (m model) links(s *sheet, label string, objects []observe.Object) {
	if len(objects) == 0 {
		s.entry(label, 0, text("none", faint))
	}
	for i, o := range objects {
		s.entry(label, i, text(name(o), accent))
		s.lines[len(s.lines)-1].object = &objects[i]
	}
}

// yamlLine sets the key of a line apart from its value.
func yamlLine(l string) line {
	for i := range len(l) {
		if l[i] == ':' && (i+1 == len(l) || l[i+1] == ' ') {
			return line{{l[:i+1], accent}, {l[i+1:], plain}}
		}
		if l[i] == '"' || l[i] == '\'' {
			break
		}
	}
	return text(l, plain)
}

// resource is RESOURCE.GROUP.
func resource(o observe.Object) string {
	if o.Group == "" {
		return o.Resource
	}
	return o.Resource + "." + o.Group
}
