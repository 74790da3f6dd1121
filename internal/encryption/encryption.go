// Package encryption finds the stored values that an API server cannot read, because they are
// encrypted with a key that it lacks. Such an API server never becomes ready: an informer that
// cannot list one object lists none.
package encryption

import (
	"bytes"
	"context"
	"fmt"

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
// none. One that cannot be loaded is no error: the API server reports it when it starts.
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
	return r.Check(ctx, state)
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

// Check fails with an [*UnreadableError] if the API server cannot read encrypted values of a state.
func (r Reader) Check(ctx context.Context, state snapshot.State) error {
	var found *UnreadableError
	failed := map[string]bool{} // by resource and key: a plugin that does not answer is not asked again
	for _, e := range state.Entries {
		key := storekeys.Parse(e.Key)
		if !isEncrypted(e.Value) || key.Resource() == "" {
			continue
		}
		provider, name := keyOf(e.Value)
		id := fmt.Sprintf("%s\n%s\n%s", key.ResourcePrefix, provider, name)
		if !failed[id] && r.canRead(ctx, key.Resource(), e, provider) {
			continue
		}
		failed[id] = true
		if found == nil {
			found = &UnreadableError{First: key, Provider: provider, Key: name}
		}
		found.Count++
	}
	if found == nil {
		return nil
	}
	return found
}

// canRead reports whether the API server can decrypt a value, or could if a plugin answered.
func (r Reader) canRead(ctx context.Context, resource string, e snapshot.Entry, provider string) bool {
	if r.Transformers == nil {
		return false
	}
	transformer := r.Transformers.TransformerForResource(schema.ParseGroupResource(resource))
	about := value.DefaultContext(r.Prefix + e.Key)
	_, _, err := transformer.TransformFromStorage(ctx, e.Value, about)
	if err == nil || provider != kms {
		return err == nil
	}
	_, _, unknown := transformer.TransformFromStorage(ctx, []byte(valuePrefix+"unknown:"), about) // its error is that of a provider that is not configured
	return unknown == nil || err.Error() != unknown.Error()
}

// keyOf returns the provider that has encrypted a value, and the name of its key.
func keyOf(stored []byte) (provider, key string) {
	parts := bytes.SplitN(stored[len(valuePrefix):], []byte(":"), 4)
	if len(parts) < 4 {
		return string(parts[0][:min(len(parts[0]), 16)]), ""
	}
	return string(parts[0]), string(parts[2])
}

// UnreadableError says that an API server cannot read some values.
type UnreadableError struct {
	Count int
	// First is the object of the first value. Key of Provider has encrypted it.
	First         storekeys.Key
	Provider, Key string
}

func (e *UnreadableError) Error() string {
	which := fmt.Sprintf("1 stored value cannot be read: %s %s", e.First.Resource(), e.First.Object)
	if e.Count > 1 {
		which = fmt.Sprintf("%d stored values cannot be read: the first, %s %s,", e.Count, e.First.Resource(), e.First.Object)
	}
	return fmt.Sprintf("%s is encrypted with key %q of provider %q, which this API server lacks or has with another secret: start with --kube-apiserver-arg encryption-provider-config=FILE, where FILE has that key",
		which, e.Key, e.Provider)
}
