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

// looker reads objects as the API server has them, whatever the controller
// itself may read. The zero value sees nothing.
type looker struct{ transport http.RoundTripper }

func newLooker(cfg *rest.Config) (looker, error) {
	transport, err := rest.TransportFor(cfg)
	return looker{transport}, err
}

// sight is an object right before and right after a write.
type sight struct {
	before, after content // without a value where there was none
	unseen        error   // why neither is known
}

// before begins to watch a write.
func (l looker) before(req *http.Request, call *observe.Called) (s sight) {
	switch path := objectPath(req, call); {
	case l.transport == nil:
		s.unseen = errors.New("nobody looks")
	case call.Verb == "deletecollection":
		s.unseen = errors.New("the write is to many objects")
	case path != "":
		s.before, s.unseen = l.get(req, path)
	}
	return s
}

// after completes s: by what the answer holds, for others may write at once; by
// what there is now only if the object is not in it.
func (l looker) after(req *http.Request, call *observe.Called, resp *http.Response, s sight) sight {
	if s.unseen != nil {
		return s
	}
	data, err := io.ReadAll(resp.Body)
	rest := io.Reader(bytes.NewReader(data))
	if err != nil { // it meets whoever reads the answer
		rest = io.MultiReader(rest, failing{err})
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{rest, resp.Body}
	if call.Verb != "delete" {
		if s.after, err = decode(resp.Header.Get("Content-Type"), data); err == nil && holds(s.after, call) {
			return s
		}
	}
	path := objectPath(req, call)
	if path == "" {
		s.unseen = errors.New("the answer does not hold the object")
		return s
	}
	s.after, s.unseen = l.get(req, path)
	if s.before.value != nil && s.after.text("metadata", "uid") != s.before.text("metadata", "uid") {
		s.after = content{} // it has gone, and there is another one by now
	}
	return s
}

// holds says whether an answer is the object that the call was for.
func holds(c content, call *observe.Called) bool {
	kind := c.text("kind")
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

// get reads the object at path; none is no error.
func (l looker) get(of *http.Request, path string) (c content, err error) {
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
		return decode(resp.Header.Get("Content-Type"), data)
	case http.StatusNotFound:
		return c, nil
	}
	return c, fmt.Errorf("it cannot be read: %s", resp.Status)
}

// show is what the sight tells, as JSON. It changes s.
func (s sight) show(of observe.Object) (before, after json.RawMessage, unseen string) {
	err := s.unseen
	if err == nil && s.before.value != nil {
		before, err = s.before.shown(of)
	}
	if err == nil && s.after.value != nil {
		after, err = s.after.shown(of)
	}
	if err != nil {
		return nil, nil, err.Error()
	}
	return before, after, ""
}
