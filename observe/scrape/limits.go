package scrape

import (
	"bytes"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Any local process may answer: what its answer takes in memory is limited, decoded and as long as it is kept.
const (
	// maxParts is the greatest number of metrics, labels and buckets of an answer. Each takes some hundred bytes.
	maxParts = 250_000
	// maxKept is about how many bytes of an answer are kept for a minute: those of a thousand queues.
	maxKept = 1 << 20
)

var errTooManyParts = errors.New("the answer has more than 250,000 metrics, labels and buckets: use the address of a process with fewer")

// countTextParts returns the number of metrics, labels and buckets in the text format, or more.
func countTextParts(text []byte) int {
	return bytes.Count(text, []byte{'\n'}) + bytes.Count(text, []byte{','})
}

// countMessages returns the number of messages in an encoded one, itself included: it may have one in two bytes. Of
// an invalid one, those up to what is invalid count.
func countMessages(encoded []byte, message protoreflect.MessageDescriptor) int {
	n := 1
	for len(encoded) > 0 {
		number, kind, tag := protowire.ConsumeTag(encoded)
		if tag < 0 {
			break
		}
		size := protowire.ConsumeFieldValue(number, kind, encoded[tag:])
		if size < 0 {
			break
		}
		if field := message.Fields().ByNumber(number); kind == protowire.BytesType && field != nil && field.Message() != nil {
			inner, _ := protowire.ConsumeBytes(encoded[tag:])
			n += countMessages(inner, field.Message())
		}
		encoded = encoded[tag+size:]
	}
	return n
}

// keptSize returns about how many bytes the scrape takes.
func (s *scrape) keptSize() int {
	const bucketSize, queueSize, controllerSize = 16, 256, 64
	size := 0
	for k, q := range s.queues {
		size += queueSize + len(k.controller) + len(k.name) + bucketSize*(len(q.wait.bounds)+len(q.work.bounds))
	}
	for name := range s.controllers {
		size += controllerSize + len(name)
	}
	return size
}
