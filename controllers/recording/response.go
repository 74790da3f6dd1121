package recording

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	// protoPrefixSize covers all that ResponseSummary needs of a protobuf object:
	// names and versions precede the fields that may be long.
	protoPrefixSize = 1 << 10
	// statusPrefixSize covers a Status, or enough of its message.
	statusPrefixSize = 4 << 10
	// jsonPrefixSize is the longest JSON that is parsed.
	jsonPrefixSize = 1 << 20
)

// ResponseSummary is the part of an API server's response that records need: the
// identity of the object or, from a Status, the error or the UID of a deleted object.
type ResponseSummary struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name            string           `json:"name"`
		Namespace       string           `json:"namespace"`
		UID             string           `json:"uid"`
		ResourceVersion string           `json:"resourceVersion"`
		OwnerReferences []OwnerReference `json:"ownerReferences"`
		// Deleting is set by watch events only.
		Deleting bool `json:"-"`
	} `json:"metadata"`
	Message string `json:"message"`
	Reason  string `json:"reason"`
	Details struct {
		Name   string        `json:"name"`
		UID    string        `json:"uid"`
		Causes []statusCause `json:"causes"`
	} `json:"details"`
	// InitialEventsEnd is set for the bookmark after the initial events of a watch.
	InitialEventsEnd bool `json:"-"`
}

// ObjectKind returns the kind of the object, "" if the response has something else or the object in
// another form, as for clients that ask for metadata only.
func (s ResponseSummary) ObjectKind() string {
	switch s.Kind {
	case statusKind, "PartialObjectMetadata", "Table":
		return ""
	}
	return s.Kind
}

// modified are parts of the messages with which a write is refused because the object had been modified since
// it was read. To try again does not help with other conflicts: with the UID of an object that was deleted and
// created again, with a field of another manager in a server-side apply, or with a binding of a Pod that has a node.
var modified = []string{
	"the object has been modified",
	"ResourceVersion in precondition",
	"The object might have been modified",
	observe.RestoredMeanwhile,
	observe.InjectedFault,
}

func (s ResponseSummary) isConflict() bool {
	return s.Reason == string(metav1.StatusReasonConflict) && (observe.SaysDeleted(s.Message) ||
		slices.ContainsFunc(modified, func(part string) bool { return strings.Contains(s.Message, part) }))
}

// statusCause is one of the reasons of a Status.
type statusCause struct {
	Type    string `json:"reason"`
	Message string `json:"message"`
}

// OwnerReference is an owner of an object.
type OwnerReference struct {
	APIVersion string `json:"apiVersion"` // "" in an event of a watch
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

// AddTo completes the record of the call with the summary.
func (s ResponseSummary) AddTo(c *observe.Called) {
	if s.Kind == statusKind {
		if c.Failed() {
			c.Error = s.Refusal(c)
			c.Conflict = s.isConflict()
			s.addName(c)
		} else if c.Verb == "delete" && c.Subresource == "" {
			c.Object.UID = s.Details.UID
		}
		return
	}
	if c.Subresource == "" || c.Object.Name == "" {
		c.Object.Name, c.Object.UID = cmp.Or(s.Metadata.Name, c.Object.Name), s.Metadata.UID // the format may be unknown
	}
	if c.Object.Name == s.Metadata.Name {
		c.Object.Name = s.Metadata.Name // the one of the request is a part of its URL
	}
	if c.Verb != "deletecollection" { // that is answered with a list, as it was before
		c.ResourceVersion = s.Metadata.ResourceVersion
	}
}

// addName sets the name of an object that was not created because it exists: the request's
// path lacks it. Other errors may name an object that never existed, with another generated
// name at each attempt.
func (s ResponseSummary) addName(c *observe.Called) {
	if c.Verb == "create" && c.Object.Name == "" && s.Reason == string(metav1.StatusReasonAlreadyExists) {
		c.Object.Name = s.Details.Name
	}
}

// PeekResponse parses the beginning of a response as far as AddTo needs it. Its body still reads
// from the start.
func PeekResponse(resp *http.Response) (s ResponseSummary) {
	mediaType := resp.Header.Get("Content-Type")
	limit, parse := jsonPrefixSize, parseJSON
	if strings.HasPrefix(mediaType, runtime.ContentTypeProtobuf) {
		limit, parse = protoPrefixSize, parseProtoIdentity
		if resp.StatusCode >= http.StatusBadRequest {
			limit = statusPrefixSize
		}
	}
	if body, ok := resp.Body.(peeker); ok {
		peeked := peekedSummaries.Get().(*peekedSummary)
		defer peekedSummaries.Put(peeked)
		peeked.parse = parse
		body.Peek(limit, peeked.read)
		s, peeked.summary = peeked.summary, ResponseSummary{}
		return s
	}
	prefix, err := readPrefix(resp.Body, limit)
	RestoreBody(resp, prefix, err)
	return parse(prefix)
}

// peekedSummary receives what Peek reads. Through an interface, a summary and a function would be two objects for each call.
type peekedSummary struct {
	summary ResponseSummary
	parse   func([]byte) ResponseSummary
	read    func([]byte)
}

var peekedSummaries = sync.Pool{New: func() any {
	p := &peekedSummary{}
	p.read = func(prefix []byte) { p.summary = p.parse(prefix) }
	return p
}}

// peeker is a body in memory, whose beginning need not be copied.
type peeker interface {
	Peek(limit int, read func(prefix []byte))
}

// ParseResponse parses a response that may be truncated.
func ParseResponse(contentType string, body []byte) (s ResponseSummary) {
	if strings.HasPrefix(contentType, runtime.ContentTypeProtobuf) {
		return parseProto(body)
	}
	if json.Unmarshal(body, &s) != nil {
		s = ResponseSummary{}
		s.readJSON(body)
	}
	return s
}

// ParseObject parses an object that may be truncated: its kind and its metadata.
func ParseObject(contentType string, body []byte) (s ResponseSummary) {
	if strings.HasPrefix(contentType, runtime.ContentTypeProtobuf) {
		return parseProto(body)
	}
	s.readJSON(body)
	return s
}

// RestoreBody puts back what was read of the response's body, followed by the
// unread rest or, if reading has failed, by the error.
func RestoreBody(resp *http.Response, read []byte, err error) {
	rest := io.Reader(resp.Body)
	if err != nil {
		rest = errorReader{err}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(read), rest), resp.Body}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

// readPrefix reads at most limit bytes.
func readPrefix(r io.Reader, limit int) ([]byte, error) {
	if limit > statusPrefixSize { // do not allocate it for a short response
		return io.ReadAll(io.LimitReader(r, int64(limit)))
	}
	prefix := make([]byte, limit)
	n, err := io.ReadFull(r, prefix)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return prefix[:n], err
}

func parseJSON(data []byte) (s ResponseSummary) {
	if json.Unmarshal(data, &s) != nil {
		return ResponseSummary{}
	}
	return s
}

// parseProto reads a Status, or the metadata of another object in protobuf. data may be
// truncated.
func parseProto(data []byte) (s ResponseSummary) {
	_, kind, raw := openEnvelope(data)
	s.Kind = string(kind)
	s.parseObject(raw, s.parseMetadata)
	return s
}

// parseProtoIdentity is parseProto for a controller's call: of an object that is not a Status,
// it reads no more than AddTo needs, because there are many.
func parseProtoIdentity(data []byte) (s ResponseSummary) {
	_, kind, raw := openEnvelope(data)
	if string(kind) == statusKind {
		s.Kind = statusKind
	}
	s.parseObject(raw, s.parseIdentity)
	return s
}

const statusKind = "Status"

// protoPrefix begins an object in protobuf.
var protoPrefix = []byte("k8s\x00")

// openEnvelope reads the envelope of k8s.io/apimachinery/pkg/runtime/generated.proto: 1 type,
// of which 1 is the version and 2 the kind, 2 object. All are empty if data does not begin with
// protoPrefix.
func openEnvelope(data []byte) (version, kind, object []byte) {
	data, ok := bytes.CutPrefix(data, protoPrefix)
	if !ok {
		return nil, nil, nil
	}
	eachField(data, func(n protowire.Number, v []byte) {
		switch n {
		case 1:
			eachField(v, func(n protowire.Number, v []byte) {
				switch n {
				case 1:
					version = v
				case 2:
					kind = v
				}
			})
		case 2:
			object = v
		}
	})
	return version, kind, object
}

// parseObject reads a Status, or the metadata of another object with a function.
func (s *ResponseSummary) parseObject(object []byte, parseMetadata func([]byte)) {
	if s.Kind == statusKind {
		s.parseStatus(object)
		return
	}
	eachField(object, func(n protowire.Number, v []byte) {
		if n == 1 {
			parseMetadata(v)
		}
	})
}

// parseStatus reads a Status: 3 message, 4 reason, 5 details (of which 1 is the name, 4 a cause, 6 the UID).
func (s *ResponseSummary) parseStatus(data []byte) {
	eachField(data, func(n protowire.Number, v []byte) {
		switch n {
		case 3:
			s.Message = string(v)
		case 4:
			s.Reason = string(v)
		case 5:
			eachField(v, func(n protowire.Number, v []byte) {
				switch n {
				case 1:
					s.Details.Name = string(v)
				case 4:
					s.Details.Causes = append(s.Details.Causes, parseCause(v))
				case 6:
					s.Details.UID = string(v)
				}
			})
		}
	})
}

// parseCause reads a StatusCause: 1 type, 2 message.
func parseCause(data []byte) (c statusCause) {
	eachField(data, func(n protowire.Number, v []byte) {
		switch n {
		case 1:
			c.Type = string(v)
		case 2:
			c.Message = string(v)
		}
	})
	return c
}

// parseIdentity reads an ObjectMeta: 1 name, 5 uid, 6 resourceVersion. They are parts of one string,
// because many are kept.
func (s *ResponseSummary) parseIdentity(data []byte) {
	var name, uid, version []byte
	eachField(data, func(n protowire.Number, v []byte) {
		switch n {
		case 1:
			name = v
		case 5:
			uid = v
		case 6:
			version = v
		}
	})
	var room [384]byte
	text := string(append(append(append(room[:0], name...), uid...), version...))
	s.Metadata.Name, text = text[:len(name)], text[len(name):]
	s.Metadata.UID, s.Metadata.ResourceVersion = text[:len(uid)], text[len(uid):]
}

// parseMetadata reads an ObjectMeta: 1 name, 3 namespace, 5 uid, 6 resourceVersion, 12
// annotations, 13 ownerReferences (of which 1 is the kind, 3 the name, 4 the uid).
func (s *ResponseSummary) parseMetadata(data []byte) {
	eachField(data, func(n protowire.Number, v []byte) {
		switch n {
		case 1:
			s.Metadata.Name = string(v)
		case 3:
			s.Metadata.Namespace = string(v)
		case 5:
			s.Metadata.UID = string(v)
		case 6:
			s.Metadata.ResourceVersion = string(v)
		case 9:
			s.Metadata.Deleting = true
		case 12:
			s.InitialEventsEnd = s.InitialEventsEnd || bytes.Contains(v, []byte(initialEventsEnd))
		case 13:
			var owner OwnerReference
			eachField(v, func(n protowire.Number, v []byte) {
				switch n {
				case 1:
					owner.Kind = string(v)
				case 3:
					owner.Name = string(v)
				case 4:
					owner.UID = string(v)
				case 5:
					owner.APIVersion = string(v)
				}
			})
			s.Metadata.OwnerReferences = append(s.Metadata.OwnerReferences, owner)
		}
	})
}

// eachField calls f with each length-delimited field of a message. If data ends
// within a field, f receives the part before the end.
func eachField(data []byte, f func(protowire.Number, []byte)) {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return
		}
		data = data[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, data); n < 0 {
				return
			}
			data = data[n:]
			continue
		}
		length, n := protowire.ConsumeVarint(data)
		if n < 0 {
			return
		}
		data = data[n:]
		length = min(length, uint64(len(data)))
		f(number, data[:length])
		data = data[length:]
	}
}
