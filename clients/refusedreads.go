package clients

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	// maxRefusedReads is the number of resources whose refused lists and watches are kept.
	maxRefusedReads = 32
	// maxRefusedShown is how many of them a reason names.
	maxRefusedShown = 3
	// refusedTime is how long a refusal counts. An informer asks again at least every 30 s.
	refusedTime = 90 * time.Second
	// refusedOften is how many refusals, each within that time of the one before, are those of an
	// informer, which asks three times in the first seconds, rather than of a single command.
	refusedOften = 3
	// probeTime is the time within which several answers 404 count as one. A program that tries whether an optional API is served
	// asks several times at once, as once per namespace; an informer waits for 800 ms or longer before it asks again.
	probeTime = 500 * time.Millisecond
)

// refusedReads are the lists and watches that were refused to a client, of each resource the
// last one, until one succeeds: an informer repeats them without an end, and what waits for its
// cache never begins.
type refusedReads struct {
	mu         sync.Mutex
	byResource map[string]refusedRead
}

type refusedRead struct {
	verb, error string
	at          time.Time
	times       int // with at most refusedTime in between
}

// note notes how a list or a watch was answered.
func (r *refusedReads) note(c *observe.Called, now time.Time) {
	if c.Verb != "list" && c.Verb != "watch" || c.Object.Resource == "" || strings.HasPrefix(c.Object.Resource, "/") || isCommand(c.Client) {
		return
	}
	resource := c.Object.GroupResource()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !isRefusal(c) {
		if c.Status == http.StatusOK {
			delete(r.byResource, resource)
		}
		return
	}
	before, known := r.byResource[resource]
	if c.Status == http.StatusNotFound && now.Sub(before.at) < probeTime {
		return
	}
	if !known && len(r.byResource) >= maxRefusedReads && !r.forgetPast(now) {
		return
	}
	if now.Sub(before.at) > refusedTime {
		before.times = 0
	}
	if r.byResource == nil {
		r.byResource = map[string]refusedRead{}
	}
	r.byResource[resource] = refusedRead{c.Verb, c.Error, now, before.times + 1}
}

// forgetPast forgets the refusals that do not count any more, and reports whether there were any. Others are kept: were
// they replaced, a client with more resources than are kept would never have one that is refused often.
func (r *refusedReads) forgetPast(now time.Time) bool {
	before := len(r.byResource)
	maps.DeleteFunc(r.byResource, func(_ string, read refusedRead) bool { return now.Sub(read.at) > refusedTime })
	return len(r.byResource) < before
}

// isCommand reports whether a read is most likely that of a single command: of kubectl, or of one who tries what another
// user may read.
func isCommand(caller *observe.Caller) bool {
	return caller != nil && (caller.Impersonates != "" || programName(caller.UserAgent) == "kubectl")
}

// isRefusal reports whether a read was refused such that the same one is refused again.
func isRefusal(c *observe.Called) bool {
	switch c.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusInternalServerError:
		return true
	}
	return false
}

// describe says which reads were refused since a time, at least so many times; empty if none was.
// Those before may be of a process that has ended.
func (r *refusedReads) describe(since, now time.Time, times int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var parts []string
	for _, resource := range slices.Sorted(maps.Keys(r.byResource)) {
		if read := r.byResource[resource]; read.at.After(since) && now.Sub(read.at) <= refusedTime && read.times >= times {
			parts = append(parts, fmt.Sprintf("%s of %s is refused: %s", read.verb, resource, words.OneLine(read.error)))
		}
	}
	if more := len(parts) - maxRefusedShown; more > 0 {
		parts = append(parts[:maxRefusedShown], fmt.Sprintf("reads of %d more resources are refused", more))
	}
	return strings.Join(parts, "; ")
}
