package clients

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	// minUnanswered is how long a write has no answer until it is named, and maxUnanswered how many are.
	minUnanswered = time.Second
	maxUnanswered = 10
)

// unanswered are the writes of objects of a client that have not been answered. Whether that is so for all
// counts for settled; which they are is of interest once that takes long, as in a webhook.
type unanswered struct {
	mu     sync.Mutex
	writes map[*request]sentWrite
}

// sentWrite is what is known of a write before its answer.
type sentWrite struct {
	observe.UnansweredWrite
	contentType string
	body        *sentBody // which names what is to be created, and its owner; nil if it is not kept
	mayCreate   bool
}

func (u *unanswered) begin(r *request) {
	c := r.call
	w := sentWrite{
		UnansweredWrite: observe.UnansweredWrite{Controller: c.Controller, Verb: c.Verb, Subresource: c.Subresource, Object: c.Object, Since: c.Began},
		contentType:     r.req.Header.Get("Content-Type"), body: r.sent, mayCreate: c.Subresource == "" && (c.Verb == "create" || r.isApply()),
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.writes == nil {
		u.writes = map[*request]sentWrite{}
	}
	u.writes[r] = w
}

func (u *unanswered) end(r *request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.writes, r)
}

// snapshot returns how many there are, and the oldest of those that have lasted for long.
func (u *unanswered) snapshot(now time.Time) (count int64, list []observe.UnansweredWrite) {
	count, long := u.lasting(now)
	slices.SortFunc(long, func(a, b sentWrite) int { return a.Since.Compare(b.Since) })
	for _, w := range long[:min(len(long), maxUnanswered)] {
		list = append(list, w.named())
	}
	return count, list
}

// lasting returns how many there are, and those that have lasted for long.
func (u *unanswered) lasting(now time.Time) (count int64, long []sentWrite) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, w := range u.writes {
		if now.Sub(w.Since) >= minUnanswered {
			long = append(long, w)
		}
	}
	return int64(len(u.writes)), long
}

// named completes the name of what is to be created, and its owner.
func (w sentWrite) named() observe.UnansweredWrite {
	if w.mayCreate {
		w.body.read(func(sent []byte) {
			o := recording.ParseObject(w.contentType, sent)
			w.Object.Name = cmp.Or(w.Object.Name, printable(o.Metadata.Name, maxName))
			w.Object.Kind = cmp.Or(w.Object.Kind, printable(o.Kind, maxName))
			w.Owner = firstOwner(o)
		})
	}
	return w.UnansweredWrite
}
