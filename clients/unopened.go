package clients

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// unopenedWatches returns what stands for the watches that the process of a write has not opened yet: it may work for what it has
// listed before, as programs in Python do. That was a list of the last minute of the kind of an owner of the written object or, if
// its status is written, of its own kind. Scripts of users list what they delete or change otherwise.
func (cl *client) unopenedWatches(r *request, w *write) (list []*watch) {
	isForwarded := r.req.Header.Get("X-Forwarded-For") != ""
	if w.routine || isForwarded || r.call.Verb == "delete" || programName(r.req.UserAgent()) == "kubectl" {
		return nil
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	for i := range cl.lists {
		l := &cl.lists[i]
		if l.answered.Before(w.oldest) || l.answered.After(w.began) || !l.mayHave(w, r.kinds) {
			continue
		}
		if isOfProcess, isKnown := cl.isListOf(l, r); isOfProcess {
			list = append(list, cl.unopenedWatch(l, w))
		} else if !isKnown && len(w.watches) == 0 { // otherwise the last event of the watches is said
			list = append(list, cl.unknownWatch())
		}
	}
	return list
}

// hasWatched reports whether the client has ever watched anything: otherwise it may be a script of a user, which lists what it works
// for and is its own reason.
func (cl *client) hasWatched() bool {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return len(cl.watches)+len(cl.ended)+len(cl.watched) > 0
}

// isListOf reports whether the process of a request has made a list. isKnown is false if it may have: one of the two was not found. If
// none of the client was, as on other systems, all count as one, as for watches. The caller holds the lock.
func (cl *client) isListOf(l *list, r *request) (is, isKnown bool) {
	of, id := l.process.ID(), r.process.ID()
	switch {
	case of != "" && id != "":
		return of == id, true
	case l.conn == r.req.RemoteAddr:
		return true, true
	case isUnauthenticated(r.call.Client.User): // many programs
		return false, true
	}
	is = of == id && !cl.hasKnownProcess()
	return is, is
}

// hasKnownProcess reports whether any process of the client was found. The caller holds the lock.
func (cl *client) hasKnownProcess() bool {
	isKnown := func(w *watch) bool { return w.process.ID() != "" }
	return slices.ContainsFunc(cl.watches, isKnown) || slices.ContainsFunc(cl.ended, isKnown) ||
		slices.ContainsFunc(cl.lists, func(l list) bool { return l.process.ID() != "" })
}

// unknownWatch stands for a watch that may be the reason of a write, and whose events are not known.
func (cl *client) unknownWatch() *watch { return &watch{eventSource: &eventSource{client: cl}} }

// mayHave reports whether the list may have had what a write may be for.
func (l *list) mayHave(w *write, kinds *sync.Map) bool {
	if l.namespace != "" && l.namespace != w.object.Namespace {
		return false
	}
	if w.isStatus && w.object.GroupResource() == l.resource && l.includes(w.object) {
		return true
	}
	for _, owner := range w.owners {
		if o, ok := ownerAs(l.object, owner, w.object.Namespace, kinds); ok && l.includes(o) {
			return true
		}
	}
	return false
}

// includes reports whether the namespace and the name of an object are those of a selection.
func (s selection) includes(o observe.Object) bool {
	return (s.namespace == "" || s.namespace == o.Namespace) && (s.name == "" || s.name == o.Name)
}

// unopenedWatch returns what stands for the watch that follows a list. Owners of the written object are among what that has found
// if the client knows these from there only, and has been at work since. The caller holds the lock.
func (cl *client) unopenedWatch(l *list, w *write) *watch {
	if l.unsure || l.isSelective() || l.began.Before(w.workBegan) {
		return cl.unknownWatch()
	}
	if l.unopened == nil {
		l.unopened = &watch{
			ClientWatch: observe.ClientWatch{Resource: l.resource, Namespace: l.namespace, Name: l.name}, object: l.object, list: *l, isUnopened: true,
			eventSource: &eventSource{client: cl, process: l.process},
		}
		source := l.unopened
		time.AfterFunc(maxReaction, source.forgetFound)
	}
	return l.unopened
}

// takeFound returns what a list had.
func (w *watch) takeFound() map[string]*event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.found)
}

func (w *watch) forgetFound() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.found = nil
}
