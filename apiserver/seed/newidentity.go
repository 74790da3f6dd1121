package seed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// protobufMagic precedes the runtime.Unknown of every value that is not JSON.
var protobufMagic = []byte("k8s\x00")

// renewObject gives a stored object a new UID and sets its times to now. It decodes the
// metadata only, which is the first field of every kind.
func renewObject(value []byte, now time.Time) ([]byte, error) {
	body, ok := bytes.CutPrefix(value, protobufMagic)
	if !ok {
		return renewJSON(value, now)
	}
	var unknown runtime.Unknown
	if err := unknown.Unmarshal(body); err != nil {
		return nil, err
	}
	number, kind, tag := protowire.ConsumeTag(unknown.Raw)
	if number != 1 || kind != protowire.BytesType {
		return nil, errors.New("the first field is not the metadata")
	}
	data, size := protowire.ConsumeBytes(unknown.Raw[tag:])
	if size < 0 {
		return nil, protowire.ParseError(size)
	}
	var meta metav1.ObjectMeta
	if err := meta.Unmarshal(data); err != nil {
		return nil, err
	}
	renewMeta(&meta, now)
	data, err := meta.Marshal()
	if err != nil {
		return nil, err
	}
	rest := unknown.Raw[tag+size:]
	unknown.Raw = append(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), data), rest...)
	if body, err = unknown.Marshal(); err != nil {
		return nil, err
	}
	return append(bytes.Clone(protobufMagic), body...), nil
}

func renewJSON(value []byte, now time.Time) ([]byte, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(value, &object); err != nil {
		return nil, err
	}
	var meta metav1.ObjectMeta
	if err := json.Unmarshal(object["metadata"], &meta); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	renewMeta(&meta, now)
	var err error
	if object["metadata"], err = json.Marshal(meta); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

func renewMeta(meta *metav1.ObjectMeta, now time.Time) {
	at := metav1.NewTime(now)
	meta.UID = uuid.NewUUID()
	meta.CreationTimestamp = at
	for i := range meta.ManagedFields {
		meta.ManagedFields[i].Time = &at
	}
}
