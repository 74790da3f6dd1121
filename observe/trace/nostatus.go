package trace

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// noteMissingStatus notes the writes of a status that the API server has refused because the CustomResourceDefinition
// has no status subresource in the version that was used. It answers them as if the object did not exist: if that
// exists, this is the reason.
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
	served, defined := g.statusServed()
	for _, c := range notFound {
		c.noStatus = c.objectExisted(writes[placeOf(c.Object)], o)
		c.statusSince = served[servedAPI{resourceOf(c.Object), c.version}].After(c.Time) || defined[resourceOf(c.Object)].After(c.Time)
	}
}

// servedAPI is a kind in a version of its API, as far as that is recorded.
type servedAPI struct {
	place
	version string
}

// statusServed returns the last times at which a kind had the status subresource, and at which its
// CustomResourceDefinition was written, which may have added that.
func (g *graph) statusServed() (served map[servedAPI]time.Time, defined map[place]time.Time) {
	served, defined = map[servedAPI]time.Time{}, map[place]time.Time{}
	for _, c := range g.calls {
		switch {
		case c.Subresource == "status" && (!c.gotError() || c.Conflict):
			served[servedAPI{resourceOf(c.Object), c.version}] = c.End()
		case c.Object.Resource == "customresourcedefinitions" && c.Subresource == "" && !c.gotError() && !c.noEffect:
			resource, group, _ := strings.Cut(c.Object.Name, ".")
			defined[place{group: group, resource: resource}] = c.End()
		}
	}
	return served, defined
}

// addMissingStatus adds the last write of the status that was refused for lack of the subresource, whatever was written since:
// no write of the status succeeds.
func (c *Chain) addMissingStatus(last *lastWrites) {
	if n := last.missingStatus; n != nil && c.What != Deleted && !slices.Contains(c.Links, n) && !slices.Contains(c.Since, n) {
		c.Since = append(c.Since, n)
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

// missingStatusNote says what is missing. Another version of the API may have it.
func (n *Node) missingStatusNote() string {
	s := "its CRD has no status subresource"
	if n.statusSince {
		s = "its CRD had no status subresource"
	}
	if n.version != "" {
		s += " in version " + words.OneLine(n.version)
	}
	return s
}

// ExplainMissingStatus adds to the errors of failing keys, in a snapshot of the source, that an object was not found because
// its CustomResourceDefinition has no status subresource: what an operator reports is the answer alone.
func ExplainMissingStatus(ctx context.Context, source observe.Source, now *observe.Snapshot) error {
	notFound := func(f observe.FailingKey) bool { return strings.Contains(f.Error, "\" not found") }
	if !slices.ContainsFunc(now.Controllers, func(c observe.Controller) bool { return slices.ContainsFunc(c.Failing, notFound) }) {
		return nil
	}
	page, err := source.Records(ctx, observe.Query{Kinds: []observe.Kind{observe.KindCalled}, Notable: true, Limit: searchedCalls})
	if err != nil {
		return err
	}
	last := lastMissingStatus(newGraph(page.Records, observe.Object{}, Options{}).calls)
	for i := range now.Controllers {
		c := &now.Controllers[i]
		c.Failing = slices.Clone(c.Failing)
		for j := range c.Failing {
			f := &c.Failing[j]
			if at := slices.IndexFunc(last[c.Name], func(n *Node) bool { return n.Object.Key() == f.Key && strings.Contains(f.Error, n.Error) }); at >= 0 {
				f.Error = strings.TrimSuffix(f.Error, ".") + ", although it existed: " + last[c.Name][at].missingStatusNote()
			}
		}
	}
	return nil
}

// lastMissingStatus returns the last write of each status that was refused for this reason, by controller.
func lastMissingStatus(calls []*Node) map[string][]*Node {
	last := map[string][]*Node{}
	for _, n := range calls {
		if n.Gone || slices.ContainsFunc(n.wrote, func(w observe.Written) bool { return w.Deleted }) {
			for c, list := range last {
				last[c] = slices.DeleteFunc(list, func(of *Node) bool { return n.Object.Same(*of.Object) })
			}
		}
		if n.Subresource != "status" {
			continue
		}
		of := slices.DeleteFunc(last[n.Controller], func(before *Node) bool { return before.Object.Same(*n.Object) })
		if n.noStatus && !n.statusSince {
			of = append(of, n)
		}
		last[n.Controller] = of
	}
	return last
}
