package clients

import (
	"cmp"
	"io"
	"net/http"
	"time"
)

// completeRefusedObject completes an object that was not created: the answer need not have it.
func (r *request) completeRefusedObject() {
	o := &r.call.Object
	if o.Name == "" {
		r.readUnreadBody()
		sent := r.sentObject()
		o.Name, o.Kind = sent.Metadata.Name, cmp.Or(o.Kind, cutText(sent.Kind, maxName))
	}
	o.Name = cutText(o.Name, maxName)
}

// maxBodyDelay is how long the answer to a refused request may wait for the rest of the request.
const maxBodyDelay = 100 * time.Millisecond

// readUnreadBody reads the body of a request that was refused before the server read it, as by authorization or
// an injected fault: only the body names what was to be created. Usually it has arrived with the rest of the request.
func (r *request) readUnreadBody() {
	length := r.req.ContentLength
	isRead := r.sent == nil || r.hijacked != nil || r.status == http.StatusGatewayTimeout // its handler may still read
	r.sent.read(func(sent []byte) { isRead = isRead || len(sent) > 0 })
	if isRead || length <= 0 || length > maxSentBody || r.req.Header.Get("Expect") != "" {
		return
	}
	// Without a deadline a client could keep the request open.
	if http.NewResponseController(r.ResponseWriter).SetReadDeadline(time.Now().Add(maxBodyDelay)) == nil {
		_, _ = io.CopyN(io.Discard, r.sent, length) // what is missing then is not known
	}
}
