package snapshot

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/encoding/protowire"
)

// protobufMagic is the prefix of values that Kubernetes has encoded as protobuf.
var protobufMagic = []byte("k8s\x00")

// ObjectUID returns the UID of the object in a value as the API server stores it, empty if
// it has none. It returns false if the value cannot be read, for example because it is
// encrypted.
func ObjectUID(value []byte) (string, bool) {
	if message, ok := bytes.CutPrefix(value, protobufMagic); ok {
		// Unknown: 2 = raw; every object: 1 = metadata; ObjectMeta: 5 = uid.
		for _, number := range []protowire.Number{2, 1, 5} {
			if message, ok = protobufField(message, number); !ok {
				return "", false
			}
		}
		return string(message), true
	}
	var object struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(value, &object); err != nil {
		return "", false
	}
	return object.Metadata.UID, true
}

// protobufField returns the bytes of a field of a message, nil if it is not set. It
// returns false if the message is damaged.
func protobufField(message []byte, number protowire.Number) ([]byte, bool) {
	for len(message) > 0 {
		found, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, false
		}
		message = message[n:]
		if found == number && kind == protowire.BytesType {
			value, n := protowire.ConsumeBytes(message)
			return value, n >= 0
		}
		if n = protowire.ConsumeFieldValue(found, kind, message); n < 0 {
			return nil, false
		}
		message = message[n:]
	}
	return nil, true
}
