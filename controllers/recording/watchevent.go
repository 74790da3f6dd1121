package recording

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"mime"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"
)

// WatchEvent is the part of an event of a watch that records need.
type WatchEvent struct {
	Type   string // ADDED, MODIFIED, DELETED, BOOKMARK or ERROR
	Object ResponseSummary
	// Encoded begins with the encoded object, and is valid as long as the frame.
	Encoded []byte
}

// initialEventsEnd is the annotation of the bookmark after the initial events of a watch.
const initialEventsEnd = "k8s.io/initial-events-end"

// WatchEventParser returns the function that reads an event as the API server writes it
// to a watch of that content type; nil for other formats, and for tables.
func WatchEventParser(contentType string) func(frame []byte) WatchEvent {
	mediaType, params, _ := mime.ParseMediaType(contentType)
	if params["as"] == "Table" {
		return nil
	}
	switch mediaType {
	case runtime.ContentTypeJSON:
		return parseJSONEvent
	case runtime.ContentTypeProtobuf:
		return parseProtoEvent
	}
	return nil
}

// WatchEventDetector returns the function that is called with each part of a watch of that content
// type, in order. It reports whether the part is an event, and is ok as long as each part is what the
// API server writes at once: an event, or the length before one. nil for other formats.
func WatchEventDetector(contentType string) func(part []byte) (isEvent, ok bool) {
	switch mediaType, _, _ := mime.ParseMediaType(contentType); mediaType {
	case runtime.ContentTypeJSON:
		return detectJSONEvent
	case runtime.ContentTypeProtobuf:
		return new(protoDetector).detect
	}
	return nil
}

// detectJSONEvent relies on each event being a line.
func detectJSONEvent(part []byte) (isEvent, ok bool) {
	isLine := bytes.HasPrefix(part, []byte("{")) && bytes.IndexByte(part, '\n') == len(part)-1
	return isLine, isLine
}

// protoDetector follows the lengths before events.
type protoDetector struct {
	length uint32 // of the next event; 0 = the length is next
}

// lengthPrefix is the size of the length before an event, which is written on its own.
const lengthPrefix = 4

func (d *protoDetector) detect(part []byte) (isEvent, ok bool) {
	length := d.length
	d.length = 0
	if length != 0 {
		isEvent = uint64(len(part)) == uint64(length)
		return isEvent, isEvent
	}
	if len(part) == lengthPrefix {
		d.length = binary.BigEndian.Uint32(part)
	}
	return false, d.length != 0
}

// parseJSONEvent reads no further than the object's metadata.
func parseJSONEvent(frame []byte) (e WatchEvent) {
	members(frame, func(name, value []byte) bool {
		switch string(name) {
		case "type":
			e.Type = stringAt(value)
		case "object":
			e.Encoded = value
			e.Object.readJSON(value)
			return false
		}
		return true
	})
	return e
}

// parseProtoEvent reads a WatchEvent: 1 type, 2 object, of which 1 is the raw object. The
// length that precedes it in the stream is not part of it.
func parseProtoEvent(frame []byte) (e WatchEvent) {
	eachField(frame, func(n protowire.Number, v []byte) {
		switch n {
		case 1:
			e.Type = string(v)
		case 2:
			eachField(v, func(n protowire.Number, v []byte) {
				if n == 1 {
					e.Object, e.Encoded = parseProto(v), v
				}
			})
		}
	})
	return e
}

// readJSON reads the beginning of an object up to the end of its metadata, which the API
// server writes before all that may be long.
func (s *ResponseSummary) readJSON(data []byte) {
	members(data, func(name, value []byte) bool {
		switch string(name) {
		case "kind":
			s.Kind = stringAt(value)
		case "metadata":
			s.readMetadata(value)
			return false
		}
		return true
	})
}

func (s *ResponseSummary) readMetadata(data []byte) {
	m := &s.Metadata
	members(data, func(name, value []byte) bool {
		switch string(name) {
		case "annotations":
			s.InitialEventsEnd = bytes.Contains(value[:valueEnd(value)], []byte(initialEventsEnd))
		case "name":
			m.Name = stringAt(value)
		case "namespace":
			m.Namespace = stringAt(value)
		case "uid":
			m.UID = stringAt(value)
		case "resourceVersion":
			m.ResourceVersion = stringAt(value)
		case "deletionTimestamp":
			m.Deleting = true
		case "ownerReferences":
			elements(value, func(owner []byte) { m.OwnerReferences = append(m.OwnerReferences, readOwner(owner)) })
		}
		return true
	})
}

func readOwner(data []byte) (o OwnerReference) {
	members(data, func(name, value []byte) bool {
		switch string(name) {
		case "kind":
			o.Kind = stringAt(value)
		case "name":
			o.Name = stringAt(value)
		case "uid":
			o.UID = stringAt(value)
		}
		return true
	})
	return o
}

// elements calls f with the data from each element of a JSON array on, until the data
// ends.
func elements(data []byte, f func(value []byte)) {
	if len(data) == 0 || data[0] != '[' {
		return
	}
	for data = data[1:]; ; {
		data = skipSpace(data, ',')
		if len(data) == 0 || data[0] == ']' {
			return
		}
		f(data)
		n := valueEnd(data)
		if n == 0 {
			return
		}
		data = data[n:]
	}
}

// members calls f with the name of each member of a JSON object, and the data from its
// value on, until f returns false or the data ends.
func members(data []byte, f func(name, value []byte) bool) {
	data = skipSpace(data, ' ')
	if len(data) == 0 || data[0] != '{' {
		return
	}
	for data = data[1:]; ; {
		data = skipSpace(data, ',')
		end := stringEnd(data)
		if end == 0 {
			return
		}
		name := data[1 : end-1]
		data = skipSpace(data[end:], ':')
		if len(data) == 0 || !f(name, data) {
			return
		}
		data = data[valueEnd(data):]
	}
}

// stringAt returns the JSON string at the beginning of data; empty if there is none.
func stringAt(data []byte) string {
	end := stringEnd(data)
	if end == 0 {
		return ""
	}
	inner := data[1 : end-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var s string
	if json.Unmarshal(data[:end], &s) != nil {
		return ""
	}
	return s
}

// skipSpace returns data from the first byte on that is neither white space nor also that.
func skipSpace(data []byte, also byte) []byte {
	for i, b := range data {
		if b != also && b != ' ' && b != '\n' && b != '\t' && b != '\r' {
			return data[i:]
		}
	}
	return nil
}

// stringEnd returns the length of the JSON string at the beginning of data; 0 if there is
// none.
func stringEnd(data []byte) int {
	if len(data) == 0 || data[0] != '"' {
		return 0
	}
	end := textEnd(data[1:])
	if end < 0 {
		return 0
	}
	return end + 2
}

// valueEnd returns the length of the JSON value at the beginning of data; all of it if
// the value is truncated.
func valueEnd(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			n := stringEnd(data[i:])
			if n == 0 {
				return len(data)
			}
			i += n - 1
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
			if depth < 0 {
				return i
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return len(data)
}
