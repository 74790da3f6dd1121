package trace

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// noProtobuf is in the error of an aggregated API server that has done what was asked, and cannot encode its answer. With another 406, for
// a media type that it does not know, it has done nothing.
const noProtobuf = "does not implement the protobuf marshalling interface"

// hasUnencodedAnswer reports whether n has deleted a collection and was answered that the list of what it has deleted cannot be encoded: the
// namespace controller asks for protobuf, which the types of many aggregated API servers lack.
func (n *Node) hasUnencodedAnswer() bool {
	return n.Verb == "deletecollection" && n.Status == http.StatusNotAcceptable && strings.Contains(n.Error, noProtobuf)
}

// unencodedDeletion returns the call that has deleted or marked an object of an aggregated API server with v, and whose answer could
// not be encoded: the first one since the last version before v, as each deletes all that exists.
func (m *writeIndex) unencodedDeletion(v *version) *Node {
	collection := v.place
	collection.name = ""
	if len(m.unencoded[collection]) == 0 || !m.elsewhere[place{group: v.group, resource: v.resource}] || !v.deleted && !v.marks() {
		return nil
	}
	var since time.Time
	for _, before := range m.versions[v.place] {
		switch {
		case !before.first.Before(v.first):
		case before.marks(): // the removal of a finalizer has followed
			return nil
		case before.first.After(since):
			since = before.first
		}
	}
	for _, c := range m.byPlace[v.place] {
		if c.creates() && c.End().After(since) && !c.End().After(v.first) {
			since = c.End()
		}
	}
	isBetween := func(c *Node) bool { return isWithin(c.Time, since, v.first) }
	if slices.ContainsFunc(m.byPlace[v.place], func(c *Node) bool { return c.Verb == "delete" && isBetween(c) }) {
		return nil
	}
	list := slices.DeleteFunc(slices.Clone(m.unencoded[collection]), func(c *Node) bool { return !isBetween(c) })
	if len(list) == 0 {
		return nil
	}
	return slices.MinFunc(list, compareTime)
}

// marks reports whether with this version the object is marked as deleted.
func (v *version) marks() bool {
	return slices.ContainsFunc(v.events, func(e *Node) bool { return e.deleting && e.Change == observe.Updated })
}

// noteUnreported notes that a call has likely stored a version, which its storage does not report.
func (n *Node) noteUnreported(v *version) {
	n.unreported = true
	resource := observe.Object{Group: v.group, Resource: v.resource}
	n.wrote = append(slices.Clip(n.wrote), observe.Written{
		Resource: resource.GroupResource(), Namespace: v.namespace, Name: v.name, ResourceVersion: v.number, Deleted: v.deleted,
	})
}
