package snapshot

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/fxamacker/cbor/v2"
	"google.golang.org/protobuf/encoding/protowire"
)

// protobufMagic is the prefix of values that Kubernetes has encoded as protobuf.
var protobufMagic = []byte("k8s\x00")

// cborMagic is the tag of self-described CBOR (RFC 8949).
var cborMagic = []byte{0xd9, 0xd9, 0xf7}

// kubernetesCBOR decodes what Kubernetes encodes: its strings are byte strings, and its limits are
// those of k8s.io/apimachinery.
var kubernetesCBOR = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		ByteStringToString:  cbor.ByteStringToStringAllowed,
		FieldNameByteString: cbor.FieldNameByteStringAllowed,
		MaxNestedLevels:     10000,
		MaxArrayElements:    math.MaxInt32,
		MaxMapPairs:         1 << 21,
	}.DecMode()
	if err != nil {
		panic(err)
	}
	return mode
}()

// Identify returns the kind and the UID of the object in a value as the API server stores it, empty if
// it has none. It returns false if the value cannot be read, for example because it is
// encrypted.
func Identify(value []byte) (kind, uid string, ok bool) {
	if message, is := bytes.CutPrefix(value, protobufMagic); is {
		// Unknown: 1 = typeMeta, 2 = raw; TypeMeta: 2 = kind; every object: 1 = metadata; ObjectMeta: 5 = uid.
		kindOf, known := protobufField(message, 1, 2)
		uidOf, alsoKnown := protobufField(message, 2, 1, 5)
		if !known || !alsoKnown {
			return "", "", false
		}
		return string(kindOf), string(uidOf), true
	}
	var object struct {
		Kind     string `json:"kind"`
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
	}
	unmarshal := json.Unmarshal
	if IsCBOR(value) {
		unmarshal = kubernetesCBOR.Unmarshal
	}
	if err := unmarshal(value, &object); err != nil {
		return "", "", false
	}
	return object.Kind, object.Metadata.UID, true
}

// IsCBOR reports whether Kubernetes has encoded a value as CBOR: custom resources, with the
// feature gate CBORServingAndStorage.
func IsCBOR(value []byte) bool { return bytes.HasPrefix(value, cborMagic) }

// protobufField returns the bytes of a field of a message, which is at a path of messages, nil if it is not set. It
// returns false if a message is damaged.
func protobufField(message []byte, path ...protowire.Number) ([]byte, bool) {
	ok := true
	for _, number := range path {
		if message, ok = fieldOf(message, number); !ok {
			break
		}
	}
	return message, ok
}

func fieldOf(message []byte, number protowire.Number) ([]byte, bool) {
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
