// Package objects decodes the values of a snapshot: built-in objects with client-go's
// scheme, and custom resources as JSON or CBOR.
package objects

import (
	"bytes"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	cbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/json" // keeps integers, which float64 rounds above 2^53
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

// decodeObject decodes a value as the API server stores it. It returns nil if that is not
// possible, for example because the value is encrypted.
func decodeObject(value []byte) *unstructured.Unstructured {
	if len(value) > 0 && value[0] == '{' {
		u := &unstructured.Unstructured{}
		if json.Unmarshal(value, &u.Object) != nil {
			return nil
		}
		return u
	}
	if snapshot.IsCBOR(value) {
		u := &unstructured.Unstructured{}
		if cbor.Unmarshal(value, &u.Object) != nil {
			return nil
		}
		return u
	}
	obj, kind, err := scheme.Codecs.UniversalDeserializer().Decode(value, nil, nil)
	if err != nil {
		return nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(*kind)
	return u
}

// WithoutServiceAccountTokens returns the state without the service account tokens in
// Secrets, and without the CA beside them. The token controller creates new ones, which
// is needed in a control plane that rejects the old ones.
func WithoutServiceAccountTokens(s snapshot.State) snapshot.State {
	entries := make([]snapshot.Entry, len(s.Entries))
	copy(entries, s.Entries)
	for i, e := range entries {
		if storekeys.ResourcePrefix(e.Key) != storekeys.Secrets {
			continue
		}
		obj, kind, err := scheme.Codecs.UniversalDeserializer().Decode(e.Value, nil, nil)
		secret, ok := obj.(*corev1.Secret)
		if err != nil || !ok || secret.Type != corev1.SecretTypeServiceAccountToken {
			continue
		}
		delete(secret.Data, corev1.ServiceAccountTokenKey)
		delete(secret.Data, corev1.ServiceAccountRootCAKey)
		secret.SetGroupVersionKind(*kind)
		var out bytes.Buffer
		if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(secret, &out); err != nil {
			panic(fmt.Sprintf("snapshot: cannot encode a Secret that was decoded: %v", err))
		}
		entries[i].Value = out.Bytes()
	}
	s.Entries = entries
	return s
}
