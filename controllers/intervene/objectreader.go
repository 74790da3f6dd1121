package intervene

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// ObjectReader reads objects before and after a write. It has credentials of its
// own, as the controller may not be allowed to read what it writes. The zero
// value reads nothing.
type ObjectReader struct{ transport http.RoundTripper }

// NewObjectReader returns a reader with the credentials in cfg.
func NewObjectReader(cfg *rest.Config) (ObjectReader, error) {
	transport, err := rest.TransportFor(cfg)
	return ObjectReader{transport}, err
}

// beforeAfter is an object right before and right after a write.
type beforeAfter struct {
	before, after objectContent // empty where there was no object
	unknown       error         // why neither is known
}

// readBefore reads the object of a write that is about to be sent.
func (r ObjectReader) readBefore(req *http.Request, call *observe.Called) (b beforeAfter) {
	switch path := objectPath(req, call); {
	case r.transport == nil:
		b.unknown = errors.New("objects are not read")
	case call.Verb == "deletecollection":
		b.unknown = errors.New("the write is to more than one object")
	case path != "":
		b.before, b.unknown = r.getObject(req, path)
	}
	return b
}

// readAfter completes b. It takes the object from the response, as other clients
// may write at once, and reads it again only if the response does not have it.
func (r ObjectReader) readAfter(req *http.Request, call *observe.Called, resp *http.Response, b beforeAfter) beforeAfter {
	if b.unknown != nil {
		return b
	}
	data, err := io.ReadAll(resp.Body)
	recording.RestoreBody(resp, data, err)
	if call.Verb != "delete" {
		if b.after, err = decodeContent(resp.Header.Get("Content-Type"), data); err == nil && isObjectOf(b.after, call) {
			return b
		}
	}
	path := objectPath(req, call)
	if path == "" {
		b.unknown = errors.New("the response does not have the object")
		return b
	}
	b.after, b.unknown = r.getObject(req, path)
	if b.before.value != nil && b.after.stringField("metadata", "uid") != b.before.stringField("metadata", "uid") {
		b.after = objectContent{} // deleted, and recreated under the same name since
	}
	return b
}

// isObjectOf reports whether the content of a response is the object of the call.
func isObjectOf(c objectContent, call *observe.Called) bool {
	kind := c.stringField("kind")
	if call.Object.Kind != "" {
		return kind == call.Object.Kind
	}
	return call.Subresource == "" && kind != "" && kind != "Status" && kind != "PartialObjectMetadata"
}

// objectPath returns the URL path of the object of a call; empty if it has no name yet.
func objectPath(req *http.Request, call *observe.Called) string {
	if call.Object.Name == "" {
		return ""
	}
	if call.Subresource == "" {
		return req.URL.Path
	}
	return strings.TrimSuffix(req.URL.Path, "/"+call.Subresource)
}

// getObject reads the object at path. It returns empty content if there is none.
func (r ObjectReader) getObject(of *http.Request, path string) (c objectContent, err error) {
	u := *of.URL
	u.Path, u.RawPath, u.RawQuery = path, "", ""
	req, err := http.NewRequestWithContext(of.Context(), http.MethodGet, u.String(), nil)
	if err != nil {
		return c, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := r.transport.RoundTrip(req)
	if err != nil {
		return c, err
	}
	data, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return c, err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return decodeContent(resp.Header.Get("Content-Type"), data)
	case http.StatusNotFound:
		return c, nil
	}
	return c, fmt.Errorf("it cannot be read: %s", resp.Status)
}

// redactedJSON returns both objects as they are shown, or why they are not
// known. It changes b.
func (b beforeAfter) redactedJSON(of observe.Object) (before, after json.RawMessage, unknown string) {
	err := b.unknown
	if err == nil && b.before.value != nil {
		before, err = b.before.redactedJSON(of)
	}
	if err == nil && b.after.value != nil {
		after, err = b.after.redactedJSON(of)
	}
	if err != nil {
		return nil, nil, err.Error()
	}
	return before, after, ""
}
