package controllers

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	// protoPrefixSize holds all that answer wants of an object in protobuf: names and
	// versions come before whatever may be long.
	protoPrefixSize = 1 << 10
	// statusPrefixSize holds a Status, or enough of its message.
	statusPrefixSize = 4 << 10
	// jsonPrefixSize is the longest JSON that is read for it.
	jsonPrefixSize = 1 << 20
)

// ResponseSummary is what an API server's answer says in brief: the object's identity,
// or of a Status why the request was refused, or whom it has removed.
type ResponseSummary struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name            string `json:"name"`
		Namespace       string `json:"namespace"`
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Message string `json:"message"`
	Reason  string `json:"reason"`
	Details struct {
		UID string `json:"uid"`
	} `json:"details"`
}

// AddTo adds what the answer says to the call.
func (a ResponseSummary) AddTo(c *observe.Called) {
	if a.Kind == "Status" {
		if c.Failed() {
			c.Error = a.Message
			c.Conflict = a.Reason == string(metav1.StatusReasonConflict)
		} else if c.Verb == "delete" && c.Subresource == "" {
			c.Object.UID = a.Details.UID
		}
		return
	}
	if c.Subresource == "" || c.Object.Name == "" {
		c.Object.Name, c.Object.UID = a.Metadata.Name, a.Metadata.UID
	}
	c.ResourceVersion = a.Metadata.ResourceVersion
}

// PeekResponse reads the beginning of an answer and returns a body that has all of it.
func PeekResponse(resp *http.Response) (ResponseSummary, io.ReadCloser) {
	media := resp.Header.Get("Content-Type")
	limit, parse := jsonPrefixSize, parseJSON
	if strings.HasPrefix(media, "application/vnd.kubernetes.protobuf") {
		limit, parse = protoPrefixSize, parseProto
		if resp.StatusCode >= http.StatusBadRequest {
			limit = statusPrefixSize
		}
	}
	prefix, err := readPrefix(resp.Body, limit)
	rest := io.Reader(resp.Body)
	if err != nil { // it meets whoever reads the rest
		rest = errorReader{err}
	}
	return parse(prefix), struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(prefix), rest), resp.Body}
}

// readPrefix reads at most limit bytes.
func readPrefix(r io.Reader, limit int) ([]byte, error) {
	if limit > statusPrefixSize {
		return io.ReadAll(io.LimitReader(r, int64(limit)))
	}
	prefix := make([]byte, limit)
	n, err := io.ReadFull(r, prefix)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return prefix[:n], err
}

type errorReader struct{ err error }

func (f errorReader) Read([]byte) (int, error) { return 0, f.err }

func parseJSON(data []byte) (a ResponseSummary) {
	if json.Unmarshal(data, &a) != nil {
		return ResponseSummary{}
	}
	return a
}

// parseProto reads the envelope of k8s.io/apimachinery/pkg/runtime/generated.proto
// (type meta, raw object) and the first fields of the object in it. data may end early.
func parseProto(data []byte) (a ResponseSummary) {
	data, ok := bytes.CutPrefix(data, []byte("k8s\x00"))
	if !ok {
		return a
	}
	var raw []byte
	eachField(data, func(n protowire.Number, v []byte) {
		switch n {
		case 1:
			eachField(v, func(n protowire.Number, v []byte) {
				if n == 2 {
					a.Kind = string(v)
				}
			})
		case 2:
			raw = v
		}
	})
	if a.Kind == "Status" { // 1 metadata, 2 status, 3 message, 4 reason, 5 details
		eachField(raw, func(n protowire.Number, v []byte) {
			switch n {
			case 3:
				a.Message = string(v)
			case 4:
				a.Reason = string(v)
			case 5: // of which 6 is the UID
				eachField(v, func(n protowire.Number, v []byte) {
					if n == 6 {
						a.Details.UID = string(v)
					}
				})
			}
		})
		return a
	}
	eachField(raw, func(n protowire.Number, v []byte) {
		if n == 1 {
			a.parseMetadata(v)
		}
	})
	return a
}

// parseMetadata reads an ObjectMeta: 1 name, 3 namespace, 5 uid, 6 resourceVersion.
func (a *ResponseSummary) parseMetadata(data []byte) {
	eachField(data, func(n protowire.Number, v []byte) {
		switch n {
		case 1:
			a.Metadata.Name = string(v)
		case 3:
			a.Metadata.Namespace = string(v)
		case 5:
			a.Metadata.UID = string(v)
		case 6:
			a.Metadata.ResourceVersion = string(v)
		}
	})
}

// eachField calls f with each length-delimited field of a message. Of one that
// data ends in, f gets what is there.
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
