package clients

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/internal/peer"
	"github.com/ctrlplane/ctrlplane/observe"
)

// list is when a client has listed objects. What the answer had is not kept.
type list struct {
	selection
	object          observe.Object // of which it has the group, the resource and the kind
	process         *peer.Process  // that has asked for it
	conn            string
	began, answered time.Time
	unsure          bool   // the client knows such objects from elsewhere, too: it has listed or read them again, or created one
	unopened        *watch // stands for the watch that follows; nil if none was needed
}

// selection is what a client lists or watches.
type selection struct{ resource, namespace, name, labels, fields string }

func newSelection(req *http.Request, o observe.Object) selection {
	q := req.URL.Query()
	return selection{o.GroupResource(), o.Namespace, o.Name, cleanText(q.Get("labelSelector")), cleanText(q.Get("fieldSelector"))}
}

func (w *watch) selection() selection {
	return selection{w.Resource, w.Namespace, w.Name, w.LabelSelector, w.FieldSelector}
}

// isSelective reports whether objects are left out whose names do not say so. A selector that only excludes labels does not count:
// few objects have these, and the client does not work for them.
func (s selection) isSelective() bool {
	byLabels, err := labels.Parse(s.labels)
	return err != nil || !byLabels.Matches(labels.Set{}) || s.fields != "" && s.fields != "metadata.name="+s.name
}

// noteList notes that a list was answered. The parts of one that is asked for in parts are one list.
func (cl *client) noteList(r *request) {
	c := r.call
	l := list{selection: newSelection(r.req, c.Object), object: c.Object, process: r.process, conn: r.req.RemoteAddr, began: c.Began, answered: c.Began.Add(c.Took)}
	goesOn := r.req.URL.Query().Get("continue") != ""
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if before := cl.lastList(&l); before != nil && goesOn {
		before.answered = l.answered
		return
	} else if before != nil {
		before.unsure, l.unsure = true, true
	}
	if len(cl.lists) < keptLists {
		cl.lists = append(cl.lists, l)
		return
	}
	cl.lists[cl.listed] = l
	cl.listed = (cl.listed + 1) % keptLists
}

// lastList returns the last list of the same that the same process may have made; nil if there was none. The caller holds the lock.
func (cl *client) lastList(than *list) (last *list) {
	for i := range cl.lists {
		l := &cl.lists[i]
		if l.selection == than.selection && l.process.MayBe(than.process) && (last == nil || l.answered.After(last.answered)) {
			last = l
		}
	}
	return last
}

// get is when a client has read an object, or created it.
type get struct {
	object  observe.Object
	at      time.Time
	created bool
}

// noteGet notes that a client has read or created an object.
func (cl *client) noteGet(c *observe.Called) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.gets[cl.nextGet%keptGets] = get{c.Object, c.Began, c.Verb != "get"}
	cl.nextGet++
	for i := range cl.lists {
		if l := &cl.lists[i]; l.object.Resource == c.Object.Resource && l.object.Group == c.Object.Group {
			l.unsure = true
		}
	}
}

// lastGet returns when the client has read an object last, or created it; zero if it has not. The caller holds the lock.
func (cl *client) lastGet(o observe.Object, created bool) (last time.Time) {
	for _, g := range cl.gets {
		if g.created == created && g.object.Same(o) {
			last = later(last, g.at)
		}
	}
	return last
}

// listBefore returns the last list of what a watch selects, if the watch goes on from a list: an informer opens
// it with the version of that. What a selector has excluded is not known. The caller holds the lock.
func (cl *client) listBefore(w *watch) (last list) {
	of := w.selection()
	if w.sendsExisting || of.isSelective() {
		return list{}
	}
	for _, l := range cl.lists {
		isOfEnded := func(ended *watch) bool { // a program has listed itself, beside the watch that goes on
			return ended.conn == w.conn && ended.selection() == of && ended.Since.Before(l.answered) && l.answered.Before(ended.ended)
		}
		if l.selection != of || l.process.ID() != w.process.ID() && !hasFullConn(cl.watches) {
			continue
		}
		if !slices.ContainsFunc(cl.ended, isOfEnded) && !l.answered.After(w.Since) && w.Since.Sub(l.answered) <= maxReaction && l.answered.After(last.answered) {
			last = l
		}
	}
	return last
}

// foundFor returns the events of what the client has found in the list before the watch, and that may be the reason
// of a write: the written object and its owners. The caller holds the lock.
func (w *watch) foundFor(wr *write, kinds *sync.Map) (list []*event) {
	if w.list.answered.IsZero() || w.list.answered.Before(wr.oldest) {
		return nil
	}
	o := wr.object
	isKnown := !w.isUnopened || w.found[o.Key()] != nil // users' scripts write the status of what they have listed, too
	if w.Resource == o.GroupResource() && wr.existed && !wr.created.After(w.list.began) && isKnown {
		list = w.appendFound(list, o)
	}
	for _, owner := range wr.owners {
		if owned, ok := ownerAs(w.object, owner, o.Namespace, kinds); ok {
			list = w.appendFound(list, owned)
		}
	}
	return list
}

// knownKind is what is known of a custom resource.
type knownKind struct {
	kind          string
	clusterScoped bool
}

// ownerAs returns an owner of an object in a namespace if it may be among what is listed or watched. A reference does not have the
// resource.
func ownerAs(among observe.Object, owner recording.OwnerReference, namespace string, kinds *sync.Map) (observe.Object, bool) {
	known := knownKind{kind: among.Kind}
	if k, ok := kinds.Load(among.GroupResource()); ok {
		known = k.(knownKind)
	}
	is := known.kind == owner.Kind
	if !is && known.kind == "" {
		guess, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: owner.Kind})
		is = guess.Resource == among.Resource
	}
	if owner.APIVersion != "" && schema.FromAPIVersionAndKind(owner.APIVersion, "").Group != among.Group {
		is = false
	}
	if !is {
		return observe.Object{}, false
	}
	if known.clusterScoped {
		namespace = ""
	}
	return observe.Object{Group: among.Group, Resource: among.Resource, Kind: owner.Kind, Namespace: namespace, Name: owner.Name, UID: owner.UID}, true
}

// appendFound appends the event of an object that existed when the client listed it.
func (w *watch) appendFound(list []*event, o observe.Object) []*event {
	if w.Namespace != "" && w.Namespace != o.Namespace || w.Name != "" && w.Name != o.Name {
		return list
	}
	if e := w.found[o.Key()]; e != nil && e.isOf(o) {
		return append(list, e)
	}
	if !w.existedAtList(o) || len(w.found) >= maxFound {
		return list
	}
	e := &event{
		sentEvent:   &sentEvent{change: observe.Listed, kind: o.Kind, namespace: o.Namespace, name: o.Name, uid: o.UID},
		eventSource: &eventSource{client: w.client, process: w.process, opened: w.list.began, group: o.Group, resource: o.Resource},
		at:          w.list.answered, change: observe.Listed,
	}
	if w.found == nil {
		w.found = map[string]*event{}
	}
	w.found[o.Key()] = e
	return append(list, e)
}

// maxFound is the number of objects of a list that a watch remembers.
const maxFound = 1024

// existedAtList reports whether an object was not added since the list, as far as is known.
func (w *watch) existedAtList(o observe.Object) bool {
	if !w.lost.IsZero() {
		return false
	}
	name, isKnown := recording.MentionOf(o.Name)
	for i := range w.events {
		e := &w.events[i]
		if (e.traits.name == name || !isKnown) && e.change == observe.Added && e.isOf(o) {
			return false
		}
	}
	return true
}
