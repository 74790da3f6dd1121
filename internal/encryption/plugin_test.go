package encryption

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

// fakePlugin decrypts as a kms provider does whose plugin has the keys.
type fakePlugin struct {
	value.Transformer
	stopped bool
	asked   int
}

func (p *fakePlugin) TransformFromStorage(_ context.Context, stored []byte, _ value.Context) ([]byte, bool, error) {
	p.asked++
	if p.stopped {
		return nil, false, errors.New("the plugin does not answer")
	}
	return stored, false, nil
}

// TestStoppedPluginIsAskedOnce checks that values whose key is with a plugin that does not answer are not refused, and
// that the check does not wait for it once per value.
func TestStoppedPluginIsAskedOnce(t *testing.T) {
	const count = 20
	var state snapshot.State
	for i := range count {
		state.Entries = append(state.Entries, snapshot.Entry{Key: fmt.Sprintf("/secrets/default/s%d", i), Value: []byte("k8s:enc:kms:v2:plugin:{}")})
	}
	for name, c := range map[string]struct {
		plugin    fakePlugin
		wantAsked int
	}{
		"running": {wantAsked: count},
		"stopped": {plugin: fakePlugin{stopped: true}, wantAsked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			prefixed := value.NewPrefixTransformers(nil, value.PrefixTransformer{Prefix: []byte("k8s:enc:kms:v2:plugin:"), Transformer: &c.plugin})
			r := Reader{Prefix: "/registry", Transformers: encryptionconfig.StaticTransformers{schema.GroupResource{Resource: "secrets"}: prefixed}}
			if err := r.Check(t.Context(), state, snapshot.State{}); err != nil {
				t.Error(err)
			}
			if c.plugin.asked != c.wantAsked {
				t.Errorf("asked %d times, want %d", c.plugin.asked, c.wantAsked)
			}
		})
	}
}
