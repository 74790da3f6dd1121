package trace

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// line is an item of the tree or, if folded is not empty, the first of these, which are not drawn.
type line struct {
	item
	folded []item
}

// minFolded is how many items are worth a line that stands for them.
const minFolded = 3

// foldRepeated folds attempts that failed in the same way one after the other, as those of a
// controller that has no permission or no quota, syncs that only requeued their key again, as those of a Pod that fits no
// node, and writes like the one before that a client made for one event: the first and the last are drawn.
func foldRepeated(items []item, all bool) (list []line) {
	for i := 0; i < len(items); {
		end := i + 1
		for same := items[i].repeated(); same != "" && end < len(items) && items[end].repeated() == same; {
			end++
		}
		if end-i-2 >= minFolded && !all {
			list = append(list, line{items[i], nil}, line{items[i+1], items[i+1 : end-1]}, line{items[end-1], nil})
		} else {
			for _, it := range items[i:end] {
				list = append(list, line{it, nil})
			}
		}
		i = end
	}
	return list
}

// repeated identifies what an item may be a repetition of; "" if it has effects of its own.
func (it item) repeated() string {
	if n := it.node; n.Kind == Call && it.top != n && n.byClient && !n.gotError() && len(n.Children) == 0 && n.Deeper == 0 {
		return n.sameLine()
	}
	if n := it.node; n.Kind == Sync && it.top == n && n.onlyRequeues() {
		return n.sameLine() + "\n" + strings.Join(n.LogLines, "\n")
	}
	return it.failure()
}

// onlyRequeues reports whether a sync of a requeued key has done nothing but requeue it again.
func (n *Node) onlyRequeues() bool {
	return n.isRetry() && n.Retried && !n.gotError() && n.Deeper == 0 &&
		!slices.ContainsFunc(n.Children, func(c *Node) bool { return !c.isRetry() })
}

// failure says what has failed and how, except for names and texts that differ at each
// attempt; "" if the item has another effect, too.
func (it item) failure() string {
	n := it.node
	if n.Kind != Sync {
		return n.callFailure()
	}
	if !n.gotError() || n.Deeper > 0 {
		return ""
	}
	s := "sync " + n.Controller + " " + n.Queue + " " + n.Key
	calls := 0
	for _, c := range n.Children {
		if c.isRetry() {
			continue
		}
		failure := c.callFailure()
		if failure == "" {
			return ""
		}
		calls++
		s += "\n" + failure
	}
	if calls == 0 {
		s += "\n" + n.Error
	}
	return s
}

// callFailure says which call has failed and how; "" for another node.
func (n *Node) callFailure() string {
	if n.Kind != Call || !n.gotError() || len(n.Children) > 0 || n.Deeper > 0 {
		return ""
	}
	name := n.Object.Name
	if n.Verb == "create" { // it may be generated
		name = ""
	}
	return fmt.Sprint(n.Controller, n.asWhom(), " ", n.Verb, " ", n.Object.Group, n.Object.Resource, n.Subresource, n.Object.Namespace, "/", name, " ", n.Status, n.Conflict, " ", n.sameError())
}

var (
	aboutNew   = regexp.MustCompile(`^[\w.-]+ ("[^"]*")`) // pods "web-x7k2p" is forbidden
	anyUID     = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	quotaUsage = regexp.MustCompile(`=[^,\s]+`)
)

// sameError returns the error without what differs at each attempt: a generated name, UIDs, and how much of a quota is
// used.
func (n *Node) sameError() string {
	text := n.Error
	if m := aboutNew.FindStringSubmatch(text); m != nil && n.Verb == "create" {
		text = strings.ReplaceAll(text, m[1], "")
	}
	text = anyUID.ReplaceAllString(text, "")
	if strings.Contains(text, "exceeded quota: ") {
		text = quotaUsage.ReplaceAllString(text, "")
	}
	return text
}

// describeFolded says what a line that stands for folded ones stands for.
func (l line) describeFolded() string {
	switch n := len(l.folded); {
	case l.node.Failed:
		return words.Count(n, "more attempt") + " failed in the same way"
	case l.node.Kind == Sync:
		return words.Count(n, "more sync") + " like this"
	default:
		return words.Count(n, "more write") + " like this"
	}
}

// writeFolded writes the line that stands for folded ones.
func (p *painter) writeFolded(after *time.Duration, lead, rest, what string) {
	p.writeLine(after, lead, rest, p.faint(p.ellipsis()+" "+what+seeAll))
}
