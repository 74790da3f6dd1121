package controllers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/observe"
)

// ObjectReader reads objects as the API server has them, whatever the controller
// itself may read. The zero value sees nothing.
type ObjectReader struct{ transport http.RoundTripper }

func NewObjectReader(cfg *rest.Config) (ObjectReader, error) {
	transport, err := rest.TransportFor(cfg)
	return ObjectReader{transport}, err
}

// beforeAfter is an object right before and right after a write.
type beforeAfter struct {
	before, after objectContent // without a value where there was none
	unknown       error         // why neither is known
}

// readBefore begins to watch a write.
func (l ObjectReader) readBefore(req *http.Request, call *observe.Called) (s beforeAfter) {
	switch path := objectPath(req, call); {
	case l.transport == nil:
		s.unknown = errors.New("nobody looks")
	case call.Verb == "deletecollection":
		s.unknown = errors.New("the write is to many objects")
	case path != "":
		s.before, s.unknown = l.getObject(req, path)
	}
	return s
}

// readAfter completes s: by what the answer holds, for others may write at once; by
// what there is now only if the object is not in it.
func (l ObjectReader) readAfter(req *http.Request, call *observe.Called, resp *http.Response, s beforeAfter) beforeAfter {
	if s.unknown != nil {
		return s
	}
	data, err := io.ReadAll(resp.Body)
	rest := io.Reader(bytes.NewReader(data))
	if err != nil { // it meets whoever reads the answer
		rest = io.MultiReader(rest, errorReader{err})
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{rest, resp.Body}
	if call.Verb != "delete" {
		if s.after, err = decodeContent(resp.Header.Get("Content-Type"), data); err == nil && isObjectOf(s.after, call) {
			return s
		}
	}
	path := objectPath(req, call)
	if path == "" {
		s.unknown = errors.New("the answer does not hold the object")
		return s
	}
	s.after, s.unknown = l.getObject(req, path)
	if s.before.value != nil && s.after.stringField("metadata", "uid") != s.before.stringField("metadata", "uid") {
		s.after = objectContent{} // it has gone, and there is another one by now
	}
	return s
}

// isObjectOf says whether an answer is the object that the call was for.
func isObjectOf(c objectContent, call *observe.Called) bool {
	kind := c.stringField("kind")
	if call.Object.Kind != "" {
		return kind == call.Object.Kind
	}
	return call.Subresource == "" && kind != "" && kind != "Status" && kind != "PartialObjectMetadata"
}

// objectPath is where the object of a call is; empty if it has no name yet.
func objectPath(req *http.Request, call *observe.Called) string {
	if call.Object.Name == "" {
		return ""
	}
	if call.Subresource == "" {
		return req.URL.Path
	}
	return strings.TrimSuffix(req.URL.Path, "/"+call.Subresource)
}

// getObject reads the object at path; none is no error.
func (l ObjectReader) getObject(of *http.Request, path string) (c objectContent, err error) {
	u := *of.URL
	u.Path, u.RawPath, u.RawQuery = path, "", ""
	req, err := http.NewRequestWithContext(of.Context(), http.MethodGet, u.String(), nil)
	if err != nil {
		return c, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := l.transport.RoundTrip(req)
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

// redactedJSON is what the sight tells, as JSON. It changes s.
func (s beforeAfter) redactedJSON(of observe.Object) (before, after json.RawMessage, unseen string) {
	err := s.unknown
	if err == nil && s.before.value != nil {
		before, err = s.before.redactedJSON(of)
	}
	if err == nil && s.after.value != nil {
		after, err = s.after.redactedJSON(of)
	}
	if err != nil {
		return nil, nil, err.Error()
	}
	return before, after, ""
}
