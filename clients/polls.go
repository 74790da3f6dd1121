package clients

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	// maxPolled is the number of resources whose lists are counted of a client.
	maxPolled = 64
	// pollingOften is how often a client has listed a resource until it counts as polling it, and minPolling is how long
	// that must have taken: a test that waits for an object lists more often, and not for long.
	pollingOften = 3
	minPolling   = 2 * time.Second
	// A client has stopped polling if its last list is longer ago than minPollPause, and than pollPauses of the longest
	// pause between two of them. A pause of more than maxPollPause ends it, too.
	minPollPause = 5 * time.Second
	maxPollPause = 10 * time.Minute
	pollPauses   = 3
)

// polls are the lists of a client by resource: a program without watches learns of changes by them.
type polls struct {
	mu         sync.Mutex
	byResource map[string]poll
}

// poll is a series of lists.
type poll struct {
	since, last time.Time
	longest     time.Duration // pause
	times       int
}

// note notes that a list was answered. The following parts of one that is asked for in parts do not count.
func (p *polls) note(r *request) {
	if r.req.URL.Query().Get("continue") != "" {
		return
	}
	resource, at := r.call.Object.GroupResource(), r.call.Began
	p.mu.Lock()
	defer p.mu.Unlock()
	of, known := p.byResource[resource]
	if !known && len(p.byResource) >= maxPolled {
		maps.DeleteFunc(p.byResource, func(_ string, of poll) bool { return of.hasEnded(at) })
		if len(p.byResource) >= maxPolled {
			return
		}
	}
	if of.hasEnded(at) {
		of = poll{since: at, last: at}
	}
	// A list that began before the last one may be answered after it.
	of.longest, of.last, of.times = max(of.longest, at.Sub(of.last)), later(of.last, at), of.times+1
	if p.byResource == nil {
		p.byResource = map[string]poll{}
	}
	p.byResource[resource] = of
}

// forget ends a series: a client that opens a watch has listed to begin that.
func (p *polls) forget(resource string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.byResource, resource)
}

func (p poll) hasEnded(now time.Time) bool {
	pause := now.Sub(p.last)
	return pause > maxPollPause || p.times >= pollingOften && pause > max(minPollPause, pollPauses*p.longest)
}

// snapshot returns the resources that the client polls.
func (p *polls) snapshot(now time.Time) (list []observe.ClientPoll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for resource, of := range p.byResource {
		if of.times >= pollingOften && of.last.Sub(of.since) >= minPolling && !of.hasEnded(now) {
			list = append(list, observe.ClientPoll{Resource: resource, Since: of.since, Last: of.last})
		}
	}
	slices.SortFunc(list, func(a, b observe.ClientPoll) int { return strings.Compare(a.Resource, b.Resource) })
	return list
}
