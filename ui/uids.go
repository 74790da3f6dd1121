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
	objects := map[string]observe.Object{} // by UID
	newest := map[observe.Object]string{}  // the UID of the last object of a place
	note := func(o observe.Object) {
		if o.UID == "" {
			return
		}
		if _, known := objects[o.UID]; !known || o.Kind != "" {
			objects[o.UID] = o
		}
		newest[placeOf(o)] = o.UID
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
		o, known := objects[found]
		if !known || namesObject(text, o.Name) {
			return found
		}
		name := words.OneLine(cmp.Or(o.Kind, o.Resource) + " " + o.Name)
		if newest[placeOf(o)] != found {
			name = "a former " + name
		}
		return found + " (" + name + ")"
	})
}

// placeOf returns what objects have in common of which each replaces the one before.
func placeOf(o observe.Object) observe.Object {
	return observe.Object{Group: o.Group, Resource: o.Resource, Namespace: o.Namespace, Name: o.Name}
}

// namesObject reports whether a text has the name of an object, and not only as a part of another one.
func namesObject(text, name string) bool {
	return regexp.MustCompile(`(^|[^a-z0-9.-])` + regexp.QuoteMeta(name) + `($|[^a-z0-9.-]|[.-]($|[^a-z0-9]))`).MatchString(text)
}
