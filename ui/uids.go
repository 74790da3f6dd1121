package ui

import (
	"cmp"
	"regexp"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// uid matches the UID of an object.
var uid = regexp.MustCompile(`\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)

// nameUIDs adds to UIDs in a text which objects have them, as far as that is recorded: an operator that evicts an object for
// another one may give the UID of that only.
func nameUIDs(text string, records []observe.Record) string {
	if !uid.MatchString(text) {
		return text
	}
	names := map[string]string{}
	note := func(o observe.Object) {
		if o.UID != "" && names[o.UID] == "" {
			names[o.UID] = words.OneLine(cmp.Or(o.Kind, o.Resource) + " " + o.Name)
		}
	}
	for i := range records {
		switch e := records[i].Event.(type) {
		case *observe.Called:
			note(e.Object)
		case *observe.Delivered:
			note(e.Object)
		}
	}
	return uid.ReplaceAllStringFunc(text, func(found string) string {
		if name := names[found]; name != "" {
			return found + " (" + name + ")"
		}
		return found
	})
}
