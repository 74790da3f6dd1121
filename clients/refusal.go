package clients

import (
	"cmp"
	"io"
	"net/http"
	"time"
)

// completeRefusedObject completes an object that was not created: the answer need not have it. That of an update has what
// relates it to others.
func (r *request) completeRefusedObject(injected bool) {
	o := &r.call.Object
	if r.call.Verb != "delete" {
		r.readUnreadBody(injected)
	}
	if o.Name == "" {
		sent := r.sentObject()
		o.Name, o.Kind = sent.Metadata.Name, cmp.Or(o.Kind, printable(sent.Kind, maxName))
	}
	o.Name = printable(o.Name, maxName)
}

// maxBodyDelay is how long the answer to a refused request may wait for the rest of the request.
const maxBodyDelay = 100 * time.Millisecond

// readUnreadBody reads the body of a request that was refused before the server read it, as by authorization or
// an injected fault: only the body names what was to be created, and its owners. Usually it has arrived with the rest of the request.
func (r *request) readUnreadBody(injected bool) {
	length := r.req.ContentLength
	mayBeRead := r.status == http.StatusGatewayTimeout && !injected // by its handler
	isRead := r.sent == nil || r.hijacked != nil || mayBeRead
	r.sent.read(func(sent []byte) { isRead = isRead || len(sent) > 0 })
	if isRead || length <= 0 || length > maxSentBody || r.req.Header.Get("Expect") != "" {
		return
	}
	// Without a deadline a client could keep the request open.
	if http.NewResponseController(r.ResponseWriter).SetReadDeadline(time.Now().Add(maxBodyDelay)) == nil {
		_, _ = io.CopyN(io.Discard, r.sent, length) // what is missing then is not known
	}
}
