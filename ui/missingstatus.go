package ui

import (
	"slices"

	"github.com/ctrlplane/ctrlplane/observe"
)

// UnwatchedNote says that no client watches a kind, given as RESOURCE.GROUP: none will write the status of its objects.
// It is empty if one does. Watches of kubectl and ctrlplane, which only show objects, do not count.
func UnwatchedNote(now observe.Snapshot, resource string) string {
	if len(watchers(now, resource)) > 0 {
		return ""
	}
	return "no client watches " + resource
}

// watchers returns the clients that watch a kind and may work for its objects.
func watchers(now observe.Snapshot, resource string) (list []observe.Client) {
	for _, c := range now.Clients {
		program := observe.ProgramOf(c.Name)
		if program != "kubectl" && program != "ctrlplane" && slices.ContainsFunc(c.Watches, func(w observe.ClientWatch) bool { return w.Resource == resource }) {
			list = append(list, c)
		}
	}
	return list
}

// missingStatus says that an object has no status, which is worth to be said if the program that should write it does not
// run, or if an intervention may be why. Many kinds have a status that no program writes.
func missingStatus(now observe.Snapshot, resource string) string {
	const text = "It has no status yet"
	if note := UnwatchedNote(now, resource); note != "" {
		return text + ", and " + note + "."
	}
	if slices.ContainsFunc(watchers(now, resource), func(c observe.Client) bool { return c.Reason != "" }) {
		return text + "."
	}
	return ""
}
