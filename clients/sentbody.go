package clients

import (
	"bytes"
	"io"
	"strings"
	"sync"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// maxSentBody is how much of a sent object is searched for its name and version. In JSON,
// what "kubectl apply" notes of the object precedes them.
const maxSentBody = 64 << 10

// sentBody keeps the beginning of what is read of a request's body.
type sentBody struct {
	io.ReadCloser
	mu   sync.Mutex    // the server may still read when the request has ended
	kept *bytes.Buffer // nil after drop
}

// keepSentBody keeps the body of a request with an object, or with options for a deletion, until the request has ended.
func (r *request) keepSentBody() {
	c := r.call
	if (c.Verb == "create" || c.Verb == "update" || c.Verb == "delete" || r.isApply()) && !r.lasts && !strings.HasPrefix(c.Object.Resource, "/") && r.req.Body != nil {
		r.sent = &sentBody{ReadCloser: r.req.Body, kept: bodies.Get().(*bytes.Buffer)}
		r.req.Body = r.sent
	}
}

// isApply reports whether a write is a server-side apply, which has an object: of other patches that is not so.
func (r *request) isApply() bool {
	return r.call.Verb == "patch" && strings.HasPrefix(r.req.Header.Get("Content-Type"), applyType)
}

// applyType begins the content types of a server-side apply.
const applyType = "application/apply-patch+"

// Read implements io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept != nil {
		b.kept.Write(p[:min(n, max(maxSentBody-b.kept.Len(), 0))])
	}
	return n, err
}

// drop forgets the body. b may be nil.
func (b *sentBody) drop() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept != nil {
		b.kept.Reset()
		bodies.Put(b.kept)
		b.kept = nil
	}
}

// sentObject returns what identifies the object that was sent.
func (r *request) sentObject() (s recording.ResponseSummary) {
	r.sent.read(func(sent []byte) { s = recording.ParseObject(r.req.Header.Get("Content-Type"), sent) })
	return s
}

// hasSentObject reports whether an object was read that was sent: a deletion has options only, and a refused body may be unread.
func (r *request) hasSentObject() (has bool) {
	r.sent.read(func(sent []byte) { has = len(sent) > 0 && r.call.Verb != "delete" })
	return has
}

// firstOwner returns the first owner of an object; nil if it has none.
func firstOwner(object recording.ResponseSummary) *observe.Object {
	owners := object.Metadata.OwnerReferences
	if len(owners) == 0 {
		return nil
	}
	return &observe.Object{Kind: printable(owners[0].Kind, maxName), Name: printable(owners[0].Name, maxName), UID: printable(owners[0].UID, maxName)}
}

// mentions returns the names in the object that was sent. b may be nil.
func (b *sentBody) mentions() (names recording.Mentions) {
	b.read(func(sent []byte) { names = recording.MentionsIn(sent[:min(len(sent), maxSearchedBody)], maxMentions) })
	return names
}

// boundTo returns the Node that the Binding names that was sent. b may be nil.
func (b *sentBody) boundTo() (node string) {
	b.read(func(sent []byte) { node = recording.ParseBinding(sent) })
	return node
}

// nodeName returns the Node that the Pod names that was sent. b may be nil.
func (b *sentBody) nodeName() (node string) {
	b.read(func(sent []byte) { node = recording.ParseNodeName(sent) })
	return node
}

// takenBy returns the holder that takes over the Lease that was sent. b may be nil.
func (b *sentBody) takenBy() (holder string) {
	b.read(func(sent []byte) { holder = recording.ParseTaker(sent) })
	return holder
}

// read calls f with what was kept, if anything was.
func (b *sentBody) read(f func(sent []byte)) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept != nil {
		f(b.kept.Bytes())
	}
}
