// Package encryption finds the stored values that an API server cannot read, because they are
// damaged or encrypted with a key that it lacks. Such an API server never becomes ready: an informer that
// cannot list one object lists none.
package encryption

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

// valuePrefix is what encrypted values begin with. The provider, its version and the name of the key follow,
// each with a colon.
const valuePrefix = "k8s:enc:"

// kms is the provider whose keys are with a plugin, which may not answer at the moment.
const kms = "kms"

// Reader reads values as an API server does.
type Reader struct {
	// Prefix is what the API server's keys begin with: some providers bind a value to its key.
	Prefix string
	// Transformers are those of the API server; nil = it has no encryption configuration.
	Transformers value.ResourceTransformers
}

// CheckFor is [Reader.Check] of an API server that is not started yet; file is its encryption configuration, empty =
// none. If it cannot be loaded, nothing is checked: the API server reports that when it starts.
func CheckFor(ctx context.Context, prefix, file string, state snapshot.State) error {
	r := Reader{Prefix: prefix}
	if !holdsEncrypted(state) {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx) // ends the connections to plugins
	defer cancel()
	if file != "" {
		config, err := encryptionconfig.LoadEncryptionConfig(ctx, file, false, "")
		if err != nil {
			return nil
		}
		r.Transformers = encryptionconfig.StaticTransformers(config.Transformers)
	}
	return r.Check(ctx, state, snapshot.State{})
}

func holdsEncrypted(state snapshot.State) bool {
	for _, e := range state.Entries {
		if isEncrypted(e.Value) {
			return true
		}
	}
	return false
}

func isEncrypted(stored []byte) bool { return bytes.HasPrefix(stored, []byte(valuePrefix)) }

// Check fails with an [*UnreadableError] if the API server cannot read encrypted values of a state that are not stored
// already. It does not fail for those whose plugin does not answer, and asks such a plugin once per resource.
func (r Reader) Check(ctx context.Context, state, stored snapshot.State) error {
	var failures []failure
	works := map[keyID]bool{}                // keys that decrypt at least one value
	failedPlugins := map[keyID]readability{} // an answer may take seconds
	for _, e := range state.Entries {
		key := storekeys.Parse(e.Key)
		if !isEncrypted(e.Value) || key.Resource() == "" {
			continue
		}
		id := keyOf(key.ResourcePrefix, e.Value)
		result, failed := failedPlugins[id]
		if !failed {
			result = r.read(ctx, key.Resource(), e, id.provider)
		}
		switch {
		case result == readable:
			works[id] = true
		case id.provider == kms:
			failedPlugins[id] = result
		}
		if result == unreadable && !stored.Has(e) {
			failures = append(failures, failure{key, id})
		}
	}
	return describe(failures, works)
}

// readability says whether the API server can decrypt a value.
type readability int

const (
	unreadable readability = iota
	readable
	unknown // the plugin that has the key does not answer
)

// read decrypts a value as the API server does.
func (r Reader) read(ctx context.Context, resource string, e snapshot.Entry, provider string) readability {
	if r.Transformers == nil {
		return unreadable
	}
	transformer := r.Transformers.TransformerForResource(schema.ParseGroupResource(resource))
	about := value.DefaultContext(r.Prefix + e.Key)
	decrypted, _, err := transformer.TransformFromStorage(ctx, e.Value, about)
	if err == nil && isObject(decrypted) {
		return readable
	}
	if err == nil || provider != kms {
		return unreadable
	}
	_, _, notConfigured := transformer.TransformFromStorage(ctx, []byte(valuePrefix+"unknown:"), about)
	if notConfigured != nil && err.Error() == notConfigured.Error() {
		return unreadable
	}
	return unknown
}

// objectPrefixes are what stored objects begin with: in protobuf, JSON, CBOR and YAML.
var objectPrefixes = [][]byte{[]byte("k8s\x00"), []byte("{"), []byte("\xd9\xd9\xf7"), []byte("apiVersion:")}

// isObject reports whether bytes can be an object. aescbc has no authentication: of the values of another secret, it
// decrypts 1 in 256 to random bytes.
func isObject(decrypted []byte) bool {
	return slices.ContainsFunc(objectPrefixes, func(prefix []byte) bool { return bytes.HasPrefix(decrypted, prefix) })
}

// keyID identifies the key of a value. Each resource has its own providers.
type keyID struct{ resourcePrefix, provider, name string }

// keyOf returns the key that has encrypted a value.
func keyOf(resourcePrefix string, stored []byte) keyID {
	parts := bytes.SplitN(stored[len(valuePrefix):], []byte(":"), 4)
	if len(parts) < 4 {
		return keyID{resourcePrefix, string(parts[0][:min(len(parts[0]), 16)]), ""}
	}
	return keyID{resourcePrefix, string(parts[0]), string(parts[2])}
}

// failure is a value that cannot be read.
type failure struct {
	key storekeys.Key
	id  keyID
}

// describe returns an error for the values whose key is missing or, if there are none, for those that are damaged.
func describe(failures []failure, works map[keyID]bool) error {
	var missing, damaged *UnreadableError
	for _, f := range failures {
		found := &missing
		if works[f.id] {
			found = &damaged
		}
		if *found == nil {
			*found = &UnreadableError{First: f.key, Provider: f.id.provider, Key: f.id.name, Damaged: works[f.id]}
		}
		(*found).Count++
	}
	switch {
	case missing != nil:
		return missing
	case damaged != nil:
		return damaged
	}
	return nil
}

// UnreadableError says that an API server cannot read some values.
type UnreadableError struct {
	Count int
	// First is the object of the first value. Key of Provider has encrypted it.
	First         storekeys.Key
	Provider, Key string
	// Damaged says that the API server can read other values with that key.
	Damaged bool
}

func (e *UnreadableError) Error() string {
	which := fmt.Sprintf("1 stored value cannot be read: %s %s", e.First.Resource(), e.First.Object)
	if e.Count > 1 {
		which = fmt.Sprintf("%d stored values cannot be read: the first, %s %s,", e.Count, e.First.Resource(), e.First.Object)
	}
	if e.Damaged {
		return fmt.Sprintf("%s is damaged: others with key %q of provider %q can be read: restore a snapshot that was saved before", which, e.Key, e.Provider)
	}
	return fmt.Sprintf("%s is encrypted with key %q of provider %q, which this API server lacks or has with another secret: start with --kube-apiserver-arg encryption-provider-config=FILE, where FILE has that key",
		which, e.Key, e.Provider)
}
