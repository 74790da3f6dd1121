package trace

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// failedEffect is a write that a client tries because of an object and cannot make.
type failedEffect struct {
	first, last *Node
	times       int           // in a row; conflicts count apart from others
	pause       time.Duration // the longest between two of them
	follows     bool          // one of them most likely follows from the object
	owned       bool          // they were to create what the object would own
	own         bool          // they were to change the object itself
	ended       bool          // the client learns of no change any more
	waits       string        // the client is paused or delayed, and has given up the last attempt
	fault       string        // the fault that is still injected into calls of the client, and into the last attempt
	renamed     bool          // each of them had another name, as generated ones are
	passed      bool          // the last attempt had a conflict instead, or after one the client has written something else
	superseded  bool          // the client has since created another object of the kind for the same owner
	existing    *Node         // what has created the object that they have found, if that is known
	backoff     backoff       // of attempts that have found that the object exists
}

// failingWrites are the writes of clients that have failed since the last time that they succeeded, or that another
// write made up for them.
type failingWrites map[attempts]*failedEffect

// attempts are those at one write that had conflicts, or those that failed otherwise.
type attempts struct {
	subject
	conflicts bool
}

// noteStored removes what a write that has been stored has done, or makes up for. A dry run makes up for dry runs only.
func (w failingWrites) noteStored(n *Node) {
	k, _ := n.subject()
	if n.dryRun {
		maps.DeleteFunc(w, func(of attempts, _ *failedEffect) bool { return of.subject == k })
		return
	}
	unnamed := k
	unnamed.object.name = "" // of an object whose name is generated
	if n.creates() && !n.noEffect {
		for _, f := range w {
			f.superseded = f.superseded || n.createsLike(f.last)
		}
	}
	maps.DeleteFunc(w, func(a attempts, f *failedEffect) bool {
		of := a.subject
		of.dryRun = false
		if n.writesAfterConflict(f) && of != k {
			f.passed = true
			return false
		}
		return of == k || of == unnamed && n.creates() || n.replaces(f) || n.deletedNamespace(f.last.Object.Namespace) || n.Gone && f.last.isToBeOwnedBy(*n.Object)
	})
}

// noteFailed counts an attempt, and returns what it is one of. A conflict is a further one only if the client had the answer to
// the last one, as the losers among several workers do not, and if it comes soon enough after that.
func (w failingWrites) noteFailed(k subject, n *Node) *failedEffect {
	of := attempts{k, n.isConflict()}
	if refused := w[attempts{k, false}]; refused != nil {
		refused.passed = of.conflicts
	}
	f := w[of]
	switch {
	case f == nil || of.conflicts && !f.isStillTried(n.Time) && !n.repeatsConflict(f.last):
		f = &failedEffect{first: n, last: n}
		w[of] = f
	case of.conflicts && n.Time.Before(f.last.End()):
		return f
	}
	f.last, f.times, f.pause, f.superseded = n, f.times+1, max(f.pause, n.Time.Sub(f.last.Time)), false
	if of.conflicts {
		f.passed = false
	}
	return f
}

// sorted returns them in the order in which they have begun to fail.
func (w failingWrites) sorted() []*failedEffect {
	return slices.SortedFunc(maps.Values(w), func(a, b *failedEffect) int { return compareTime(a.first, b.first) })
}

// failedEffects returns the writes that clients try because of an object and that fail. A client that tries the same
// write again does so most likely for the same reason, though the likely cause of that attempt is an event of another
// object, or none: it counts, too. Of a client that reports its syncs, the keys that fail are known instead. A few
// conflicts in a row are not a failure.
func (g *graph) failedEffects(about observe.Object, now observe.Snapshot) []*failedEffect {
	mine := map[*Node]bool{}
	for _, n := range g.nodes {
		if n.Object != nil && n.isAbout(about) {
			mine[n] = true
		}
	}
	failing, ended := failingWrites{}, endedClients(now)
	clientOf := map[string]*observe.Client{}
	for i := range now.Clients {
		clientOf[now.Clients[i].Name] = &now.Clients[i]
	}
	creatorOf := creators{}
	for _, n := range slices.SortedFunc(slices.Values(g.nodes), compareEnd) {
		creatorOf.note(n)
		if n.Kind != Call || !n.isWrite() {
			continue
		}
		if n.isAbout(about) && n.writeEffect(about) == Created {
			clear(failing) // what was before is of an earlier object with this name
		}
		k, ok := n.subject()
		switch {
		case !n.Failed || n.isStored():
			failing.noteStored(n)
		case !ok || !n.isUnexplainedFailure(),
			n.foundExisting() && creatorOf.createdFor(mine, n): // its cache had not yet seen what it created
		case n.isAbout(about):
			failing.noteFailed(k, n).own = true
		default:
			follows, owned := n.descendsFrom(mine), n.isToBeOwnedBy(about)
			if n.Object.Name == "" && !follows && !owned { // it may be to create another object
				continue
			}
			f := failing.noteFailed(k, n)
			f.existing = creatorOf.of(n)
			f.follows, f.owned, f.ended, f.waits = f.follows || follows, f.owned || owned, ended[n.Controller], ""
			if c := clientOf[n.Controller]; c != nil && n.wasGivenUp() {
				f.waits = c.PausedOrDelayed()
			}
		}
	}
	return g.foldRenamed(slices.DeleteFunc(failing.sorted(), func(f *failedEffect) bool {
		c := clientOf[f.last.Controller]
		goesOn := c != nil && mayFail(c)
		f.noteFault(c, now.Time)
		switch {
		case f.fault != "":
			return f.passed || !f.own && !f.follows && !f.owned
		case f.isPassing(c, now.Time):
			return true
		case f.own:
			return !goesOn || f.times < failingOften
		}
		return !f.follows && !(f.owned && (f.times > 1 || goesOn))
	}))
}

// addFailedEffects adds the writes that fail. One to the object itself stands for the last one of those that are a later
// event, and is left out if that counts no more. A conflict most often is none.
func (c *Chain) addFailedEffects(effects []*failedEffect) {
	for _, f := range effects {
		at := slices.Index(c.Since, f.last)
		switch {
		case !f.own:
		case at >= 0:
			c.Since = slices.Delete(c.Since, at, at+1)
		case !f.last.isConflict():
			continue
		}
		c.failedEffects = append(c.failedEffects, f)
	}
}

// isToBeOwnedBy reports whether a call was to create an object with a reference to its owner, and did not find that it
// exists. The cause of a client that polls is not known.
func (n *Node) isToBeOwnedBy(about observe.Object) bool {
	o := n.owner
	return o != nil && !n.foundExisting() && o.Kind == about.Kind && o.Name == about.Name &&
		(about.Namespace == "" || about.Namespace == n.Object.Namespace) && (about.UID == "" || about.UID == o.UID)
}

// isUnexplainedFailure reports whether a failed write counts: no sync that fails is known.
func (n *Node) isUnexplainedFailure() bool { return n.causedBy == nil || n.causedBy.Kind == Event }

const (
	// A client has stopped trying if its last attempt is longer ago than triedTime, and than triedPauses of the
	// longest pauses between two of them: most retries back off, which doubles the pause. After a conflict it may find that
	// what it wanted is done, and retries come sooner.
	triedTime         = 90 * time.Second
	triedConflictTime = 10 * time.Second
	triedPauses       = 3
	// minConflicting is how long a write must have had conflicts: of several workers that claim an object, all but one have
	// one, within a shorter time.
	minConflicting = 5 * time.Second
)

// isStillTried reports whether the client most likely goes on trying at this time.
func (f *failedEffect) isStillTried(now time.Time) bool {
	limit := triedTime
	if f.last.isConflict() {
		limit = triedConflictTime
	}
	return now.Sub(f.last.Time) <= max(limit, triedPauses*f.pause)
}

// isPassing reports whether the last attempt had a conflict that is normal: not many times in a row for some time, or the
// client, which is nil if it is not known, has stopped trying.
func (f *failedEffect) isPassing(client *observe.Client, now time.Time) bool {
	if !f.last.isConflict() {
		return f.passed && f.times <= observe.MaxConflicts
	}
	isTried := client != nil && mayFail(client) && !f.last.Time.Before(workBegan(client)) && f.isTriedBy(client) && f.isStillTried(now)
	return f.passed || !isTried || f.times <= observe.MaxConflicts || f.last.Time.Sub(f.first.Time) < minConflicting
}

// noteFault notes the fault that is injected into calls of the client, which may be nil, if the last attempt has failed because of
// it, and not long ago. One attempt is enough: the user may not expect that it is this one.
func (f *failedEffect) noteFault(client *observe.Client, now time.Time) {
	if client != nil && f.isStillTried(now) && client.Interventions.Fault.Rate > 0 && strings.Contains(f.last.Error, observe.InjectedFault) {
		f.fault = client.Interventions.Fault.String()
	}
}

// wasGivenUp reports whether a write ended while an intervention held or delayed it.
func (n *Node) wasGivenUp() bool { return strings.Contains(n.Error, observe.NotPerformed) }

// creators are the calls that have created the objects that exist.
type creators map[place]*Node

func (c creators) note(n *Node) {
	for _, w := range n.wrote {
		if w.Deleted {
			delete(c, placeOfWritten(w))
		}
	}
	switch {
	case n.Object == nil:
	case n.Gone:
		delete(c, placeOf(n.Object))
	case n.creates() && !n.gotError():
		c[placeOf(n.Object)] = n
	}
}

// createdFor reports whether the object of a call was created by the same controller, and because of the same nodes.
func (c creators) createdFor(mine map[*Node]bool, n *Node) bool {
	by := c[placeOf(n.Object)]
	return by != nil && by.Controller == n.Controller && by.descendsFrom(mine)
}

// of returns what has created the object that a call has found when it was to create it; nil if that is not known.
func (c creators) of(n *Node) *Node {
	if !n.foundExisting() {
		return nil
	}
	return c[placeOf(n.Object)]
}

// endedClients returns the names of the clients that neither watch nor poll, and so do not learn of changes any more.
func endedClients(now observe.Snapshot) map[string]bool {
	ended := map[string]bool{}
	for i := range now.Clients {
		c := &now.Clients[i]
		ended[c.Name] = !c.IsWatching() && !c.IsPolling() && c.InFlight == 0
	}
	return ended
}

// replaces reports whether a write makes up for one that has failed before. Whoever has made it: the object that could
// not be created exists since, the one that could not be changed or deleted does not, or the request of a client that
// has ended was made. A client may also write what it could not create because it exists.
func (n *Node) replaces(f *failedEffect) bool {
	failed := f.last
	deleted, _ := n.wroteTo(*failed.Object)
	same, own := placeOf(failed.Object) == placeOf(n.Object), failed.Controller == n.Controller
	switch {
	case deleted, same && n.Gone:
		return own || !failed.creates()
	case !same:
		return false
	case failed.foundExisting():
		return own
	case n.creates() && !n.noEffect:
		return own || failed.creates() && failed.Object.Name != ""
	}
	return f.ended && failed.Verb == n.Verb && failed.Subresource == n.Subresource
}

// writesAfterConflict reports whether a client has written the object in another way than the one that had a conflict. It
// may go on with that.
func (n *Node) writesAfterConflict(f *failedEffect) bool {
	return f.last.isConflict() && !n.Gone && f.last.Controller == n.Controller && placeOf(f.last.Object) == placeOf(n.Object)
}

// repeatsConflict reports whether an attempt had a conflict for the same reason as the last one: the client has read nothing new,
// or the conflict is injected.
func (n *Node) repeatsConflict(last *Node) bool {
	return n.injectedConflict || n.readVersion != "" && n.readVersion == last.readVersion
}

// deletedNamespace reports whether a write has deleted a namespace: nothing can be written in it since.
func (n *Node) deletedNamespace(name string) bool {
	deleted, _ := n.wroteTo(observe.Object{Resource: "namespaces", Name: name})
	return deleted
}

// foundNamespaceEnding reports whether n was to create an object in a namespace that is being deleted. An operator does
// so until it has seen that its custom resource is deleted, too.
func (n *Node) foundNamespaceEnding() bool {
	return n.Status == http.StatusForbidden && strings.HasSuffix(n.Error, observe.NamespaceTerminating)
}

// isConflict reports whether a write was answered with a conflict, which may be injected: its client answers that as any
// other one.
func (n *Node) isConflict() bool { return n.Conflict || n.injectedConflict }

// foundExisting reports whether n was to create an object that exists: many clients create first, and update then.
func (n *Node) foundExisting() bool {
	exists := strings.HasSuffix(n.Error, "already exists") && !strings.HasPrefix(n.Error, "object is being deleted") ||
		strings.HasSuffix(n.Error, "AlreadyExists") // of a Secret, only the reason is recorded
	return n.Verb == "create" && n.Status == http.StatusConflict && exists
}

// describeFailedEffect says which write fails, how often and why.
func (p phrases) describeFailedEffect(f *failedEffect, now time.Time) string {
	return p.sentence(p.actor(f.last) + " " + p.describeAttempts(f, now))
}

// minPastAttempt is how long ago the last attempt at a write was if that is worth saying: its client may have given up.
const minPastAttempt = 10 * time.Second

// describeAttempts says which write fails, how often and why, without its client.
func (p phrases) describeAttempts(f *failedEffect, now time.Time) string {
	times := "once"
	if f.times > 1 {
		times = fmt.Sprintf("%d times in a row", f.times)
	}
	if f.renamed {
		times += " under another name each time"
	}
	if ago := now.Sub(f.last.End()); ago >= minPastAttempt {
		times += ", last " + p.formatDuration(ago) + " ago"
	}
	fails := "fails"
	if f.ended {
		fails = "failed"
	}
	reason := p.reason(f.last)
	for _, w := range f.last.Webhooks {
		reason += "; " + describeWebhook(w, true)
	}
	if n := f.existing; n != nil && n.owner != nil {
		reason += "; its owner is " + words.OneLine(n.owner.Kind+" "+n.owner.Name)
	} else if n != nil && n.Controller != f.last.Controller {
		reason += "; " + p.actor(n) + " created it"
	}
	if f.fault != "" {
		reason += "; " + words.OneLine(f.fault)
	}
	if f.waits != "" {
		reason += "; the client is " + f.waits
	}
	return fmt.Sprintf("%s to %s%s, %s: %s", fails, p.requestName(f.last), f.owner(), times, reason)
}
