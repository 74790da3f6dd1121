package trace

import (
	"net/http"
	"strings"
)

// noteMissingStatus notes the writes of a status that the API server has refused because the CustomResourceDefinition
// has no status subresource. It answers them as if the object did not exist: if that exists, this is the reason.
func (g *graph) noteMissingStatus(o Options) {
	var notFound []*Node
	writes := map[place][]*Node{} // to their objects
	for _, c := range g.calls {
		if c.Subresource == "status" && c.Status == http.StatusNotFound && strings.Contains(c.Error, "\""+c.Object.Name+"\" not found") {
			notFound = append(notFound, c)
			writes[placeOf(c.Object)] = nil
		}
	}
	if len(notFound) == 0 {
		return
	}
	for _, c := range g.calls {
		for _, w := range c.wrote {
			at := placeOfWritten(w)
			if _, asked := writes[at]; asked {
				writes[at] = append(writes[at], c)
			}
		}
	}
	for _, c := range notFound {
		c.noStatus = c.objectExisted(writes[placeOf(c.Object)], o)
	}
}

// objectExisted reports whether the object of a call is known to have existed during the call: the storage reports
// what has written it, and no record since was dropped.
func (n *Node) objectExisted(writes []*Node, o Options) (exists bool) {
	for _, w := range writes {
		switch deleted, _ := w.wroteTo(*n.Object); {
		case w.End().Before(n.Time):
			exists = !deleted && (o.Missed == 0 || o.CompleteAfter != 0 && w.seq > o.CompleteAfter)
		case deleted && w.Time.Before(n.End()):
			return false
		}
	}
	return exists
}
