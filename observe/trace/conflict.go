package trace

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/ctrlplane/ctrlplane/observe"
)

// storedWrite is a write that has made a version.
type storedWrite struct {
	by      *Node
	version uint64
}

// noteConflicts notes for each write that was refused because its object had been modified which writes had done that. outside
// are the writes that are known by their events only.
func (g *graph) noteConflicts(outside []*Node) {
	all := g.storedWrites(outside)
	last := map[place]storedWrite{}
	for _, n := range slices.SortedFunc(slices.Values(g.calls), compareEnd) {
		if n.Conflict && !n.refusedByRestore() {
			p := placeOf(n.Object)
			if by := last[p]; by.by != nil {
				n.modifiedBy = modifiers(all[p], by, n)
			}
		}
		for _, w := range n.wrote {
			p, version := placeOfWritten(w), observe.VersionNumber(w.ResourceVersion)
			if before, known := last[p]; !known || version > before.version {
				last[p] = storedWrite{n, version}
			}
		}
	}
}

// storedWrites returns the writes to each object of a conflict, in the order of their versions.
func (g *graph) storedWrites(outside []*Node) map[place][]storedWrite {
	all := map[place][]storedWrite{}
	for _, n := range g.calls {
		if n.Conflict {
			all[placeOf(n.Object)] = nil
		}
	}
	add := func(p place, w storedWrite) {
		if list, ok := all[p]; ok {
			all[p] = append(list, w)
		}
	}
	for _, n := range g.calls {
		for _, w := range n.wrote {
			add(placeOfWritten(w), storedWrite{n, observe.VersionNumber(w.ResourceVersion)})
		}
	}
	for _, n := range outside {
		if version := observe.VersionNumber(n.ResourceVersion); version != 0 && !n.writeRecorded {
			add(placeOf(n.Object), storedWrite{n, version})
		}
	}
	for _, list := range all {
		slices.SortFunc(list, compareVersion)
	}
	return all
}

// modifiers returns the writes that had changed the object of n: the first one after the version that the client had read, if that
// is known, and the last one that was stored before n was refused, by another writer, if that is certain. all are the writes to
// the object.
func modifiers(all []storedWrite, last storedWrite, n *Node) (list []*Node) {
	if read := observe.VersionNumber(n.readVersion); read != 0 {
		if last.version <= read {
			return nil
		}
		first, _ := slices.BinarySearchFunc(all, storedWrite{version: read + 1}, compareVersion)
		if by := all[first].by; by.Kind != Outside {
			list = append(list, by)
		}
	}
	if maybeOvertaken(all, last, n) {
		return list
	}
	isSame := len(list) > 0 && list[0].Controller == last.by.Controller
	if !isSame {
		return append(list, last.by)
	}
	if deleted, _ := last.by.wroteTo(*n.Object); deleted { // that is the reason
		return []*Node{last.by}
	}
	return list
}

func compareVersion(a, b storedWrite) int { return cmp.Compare(a.version, b.version) }

// maybeOvertaken reports whether a later write than last may have been stored before n was refused: one that was
// answered later, or one whose call is not recorded. all are the writes to the object.
func maybeOvertaken(all []storedWrite, last storedWrite, n *Node) bool {
	first, _ := slices.BinarySearchFunc(all, storedWrite{version: last.version + 1}, compareVersion)
	for _, w := range all[first:] {
		switch {
		case w.by.Kind == Outside:
			if !w.by.Time.After(n.End().Add(maxEventDelay)) {
				return true
			}
		case w.by.Time.After(n.End()):
			return false // so were all later versions
		default:
			return true
		}
	}
	return false
}

// restoredReason is why a restore refuses a write: it may not have changed the write's object.
const restoredReason = "the control plane was restored while the write waited"

// refusedByRestore reports whether a restore has refused a write that waited.
func (n *Node) refusedByRestore() bool {
	return n.Conflict && observe.SaysRestored(n.Error)
}

// conflictingChange says what had happened to the object of a write that had a conflict.
func (n *Node) conflictingChange() string {
	if observe.SaysDeleted(n.Error) {
		return "deleted"
	}
	return "modified"
}

// modification says who had modified or deleted what a write that had a conflict is about, if that is known;
// what is empty, or names it.
func (p phrases) modification(n *Node, what string) (text string) {
	deleted := false
	for i, by := range n.modifiedBy {
		who, itself := p.actor(by), ""
		if by.Controller == n.Controller {
			who, itself = "it", " itself"
		}
		version := " to version " + strconv.FormatUint(by.storedVersion(*n.Object), 10)
		deleted, _ = by.wroteTo(*n.Object)
		switch {
		case i == 0 && deleted:
			return who + " had" + itself + " deleted" + what
		case i == 0:
			text = who + " had" + itself + " modified" + what + version
		case deleted:
			text += ", and " + who + " had" + itself + " deleted it"
		default:
			text += ", and " + who + itself + version
		}
	}
	if observe.SaysDeleted(n.Error) && !deleted { // by a later write, which is not recorded
		return ""
	}
	return text
}

// noteRetries notes the writes of clients that had a conflict, and that the client has repeated until it succeeded. These need not
// have the cause of the first attempt: what had modified the object may be that of the next one.
func (g *graph) noteRetries() {
	next := map[subject]*Node{}
	for _, n := range slices.Backward(slices.SortedFunc(slices.Values(g.calls), compareTime)) {
		to, ok := n.subject()
		if !ok {
			continue
		}
		again := next[to]
		n.isRetried = n.isConflict() && again != nil && again.Time.Sub(n.End()) <= observe.MaxRetry && (again.isRetried || !again.gotError())
		next[to] = n
	}
}
