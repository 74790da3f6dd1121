package snapshot

import (
	"bytes"
	"encoding/json"
	"iter"
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
	i, ok := identify(value)
	return i.kind, i.uid, ok
}

// identity is what is known of the object in a value.
type identity struct {
	kind, uid string
	owners    []string // their UIDs
}

// identify returns false as Identify does.
func identify(value []byte) (identity, bool) {
	if message, is := bytes.CutPrefix(value, protobufMagic); is {
		// Unknown: 1 = typeMeta, 2 = raw; TypeMeta: 2 = kind; every object: 1 = metadata; ObjectMeta: 5 = uid,
		// 13 = ownerReferences; OwnerReference: 4 = uid.
		kindOf, known := protobufField(message, 1, 2)
		metadata, alsoKnown := protobufField(message, 2, 1)
		uidOf, hasUID := protobufField(metadata, 5)
		if !known || !alsoKnown || !hasUID {
			return identity{}, false
		}
		i := identity{kind: string(kindOf), uid: string(uidOf)}
		for owner := range protobufFields(metadata, 13) {
			of, _ := protobufField(owner, 4)
			i.owners = append(i.owners, string(of))
		}
		return i, true
	}
	var object struct {
		Kind     string `json:"kind"`
		Metadata struct {
			UID    string `json:"uid"`
			Owners []struct {
				UID string `json:"uid"`
			} `json:"ownerReferences"`
		} `json:"metadata"`
	}
	unmarshal := json.Unmarshal
	if IsCBOR(value) {
		unmarshal = kubernetesCBOR.Unmarshal
	}
	if err := unmarshal(value, &object); err != nil {
		return identity{}, false
	}
	i := identity{kind: object.Kind, uid: object.Metadata.UID}
	for _, owner := range object.Metadata.Owners {
		i.owners = append(i.owners, owner.UID)
	}
	return i, true
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
	value, rest, ok := cutField(message, number)
	return value, ok || len(rest) == 0
}

// protobufFields returns the bytes of each field of a message with a number. It ends where the message is damaged.
func protobufFields(message []byte, number protowire.Number) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for value, rest, ok := cutField(message, number); ok && yield(value); value, rest, ok = cutField(rest, number) {
		}
	}
}

// cutField returns the bytes of the first field with a number, and the message after it. If it returns false, rest is
// empty at the end of the message, and begins with what is damaged otherwise.
func cutField(message []byte, number protowire.Number) (value, rest []byte, ok bool) {
	for len(message) > 0 {
		found, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, message, false
		}
		m := protowire.ConsumeFieldValue(found, kind, message[n:])
		if m < 0 {
			return nil, message, false
		}
		if found == number && kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(message[n:])
			return value, message[n+m:], true
		}
		message = message[n+m:]
	}
	return nil, nil, false
}
