package encryption

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

const (
	firstSecret  = "QUJDREVGR0hJSktMTU5PUA=="
	secondSecret = "cXJzdHV2d3h5ejAxMjM0NQ=="
)

// TestCheckFor checks which encrypted values are reported, and that those without encryption never are.
func TestCheckFor(t *testing.T) {
	key1 := aesgcm("k1", firstSecret)
	encrypted := func(name string) snapshot.Entry {
		return encrypt(t, configure(t, "secrets", key1), snapshot.Entry{Key: "/secrets/default/" + name, Value: []byte("{}")})
	}
	plain := snapshot.Entry{Key: "/secrets/default/plain", Value: []byte("{}")}
	damaged := encrypted("a")
	damaged.Value[len(damaged.Value)-1] ^= 1
	kmsValue := snapshot.Entry{Key: "/secrets/default/kms", Value: []byte("k8s:enc:kms:v2:plugin:\x0a\x01d\x12\x03key\x1a\x03dek")} // an EncryptedObject
	socket := "unix://" + filepath.Join(t.TempDir(), "none.sock")
	plugin := func(name string) string {
		return fmt.Sprintf(`{kms: {apiVersion: v2, name: %s, endpoint: "%s", timeout: 1ms}}`, name, socket)
	}
	const advice = ", which this API server lacks or has with another secret: start with --kube-apiserver-arg encryption-provider-config=FILE, where FILE has that key"
	for name, c := range map[string]struct {
		file, prefix string
		entries      []snapshot.Entry
		want         string
	}{
		"nothing encrypted":    {entries: []snapshot.Entry{plain}},
		"no configuration":     {entries: []snapshot.Entry{encrypted("a"), plain}, want: `1 stored value cannot be read: secrets default/a is encrypted with key "k1" of provider "aesgcm"` + advice},
		"several":              {entries: []snapshot.Entry{encrypted("a"), encrypted("b")}, want: `2 stored values cannot be read: the first, secrets default/a, is encrypted with key "k1" of provider "aesgcm"` + advice},
		"the key":              {file: configure(t, "secrets", "{identity: {}}, "+key1), entries: []snapshot.Entry{encrypted("a"), plain}},
		"the key, by wildcard": {file: configure(t, `"*.*"`, key1), entries: []snapshot.Entry{encrypted("a"), plain}},
		"of another kind":      {file: configure(t, "configmaps", key1), entries: []snapshot.Entry{encrypted("a")}, want: `key "k1"`},
		"another key":          {file: configure(t, "secrets", aesgcm("k2", secondSecret)), entries: []snapshot.Entry{encrypted("a")}, want: `key "k1"`},
		"another secret":       {file: configure(t, "secrets", aesgcm("k1", secondSecret)), entries: []snapshot.Entry{encrypted("a")}, want: `key "k1"`},
		"another etcd prefix":  {file: configure(t, "secrets", key1), prefix: "/other", entries: []snapshot.Entry{encrypted("a")}, want: `key "k1"`},
		"plugin, not started":  {file: configure(t, "secrets", plugin("plugin")), entries: []snapshot.Entry{kmsValue}},
		"another plugin":       {file: configure(t, "secrets", plugin("other")), entries: []snapshot.Entry{kmsValue}, want: `key "plugin" of provider "kms"`},
		"no such file":         {file: "missing", entries: []snapshot.Entry{encrypted("a")}},
		"damaged": {
			file: configure(t, "secrets", key1), entries: []snapshot.Entry{damaged, encrypted("b"), encrypted("c")},
			want: `1 stored value cannot be read: secrets default/a is damaged: others with key "k1" of provider "aesgcm" can be read: restore a snapshot that was saved before`,
		},
		"damaged, and another key": {
			file: configure(t, "secrets", key1), entries: []snapshot.Entry{damaged, encrypted("b"), {Key: "/secrets/default/c", Value: []byte("k8s:enc:aesgcm:v1:k2:value")}},
			want: `1 stored value cannot be read: secrets default/c is encrypted with key "k2"`,
		},
		"cut": {entries: []snapshot.Entry{{Key: plain.Key, Value: []byte(valuePrefix + "x")}}, want: `key "" of provider "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			if c.prefix == "" {
				c.prefix = "/registry"
			}
			err := CheckFor(t.Context(), c.prefix, c.file, snapshot.State{Entries: c.entries})
			if c.want == "" && err != nil {
				t.Errorf("got %v", err)
			}
			if c.want != "" {
				if !errors.As(err, new(*UnreadableError)) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
			}
		})
	}
}

// TestAnotherSecretWithoutAuthentication checks that a value of aescbc which another secret decrypts to bytes with a valid
// padding, as of 1 value in 256, cannot be read.
func TestAnotherSecretWithoutAuthentication(t *testing.T) {
	aescbc := func(secret string) string {
		return configure(t, "secrets", fmt.Sprintf("{aescbc: {keys: [{name: k1, secret: %s}]}}", secret))
	}
	first, second := aescbc(firstSecret), transformersOf(t, aescbc(secondSecret))
	for range 100_000 {
		e := encrypt(t, first, snapshot.Entry{Key: "/secrets/default/a", Value: []byte("k8s\x00 some secret")})
		transformer := second.TransformerForResource(schema.GroupResource{Resource: "secrets"})
		if _, _, err := transformer.TransformFromStorage(t.Context(), e.Value, value.DefaultContext("/registry"+e.Key)); err != nil {
			continue
		}
		err := Reader{Prefix: "/registry", Transformers: second}.Check(t.Context(), snapshot.State{Entries: []snapshot.Entry{e}}, snapshot.State{})
		if !errors.As(err, new(*UnreadableError)) {
			t.Errorf("got %v", err)
		}
		return
	}
	t.Fatal("no value had a valid padding")
}

// TestCheckLeavesOutWhatIsStored checks that only values that would be written are reported.
func TestCheckLeavesOutWhatIsStored(t *testing.T) {
	entry := func(name, value string) snapshot.Entry {
		return snapshot.Entry{Key: "/secrets/default/" + name, Value: []byte(valuePrefix + "aesgcm:v1:k1:" + value)}
	}
	stored := snapshot.State{Entries: []snapshot.Entry{entry("a", "1"), entry("b", "1")}}
	if err := (Reader{}).Check(t.Context(), stored, stored); err != nil {
		t.Error(err)
	}
	changed := snapshot.State{Entries: []snapshot.Entry{entry("a", "1"), entry("b", "2")}}
	if err := (Reader{}).Check(t.Context(), changed, stored); err == nil || !strings.HasPrefix(err.Error(), "1 stored value cannot be read: secrets default/b ") {
		t.Errorf("got %v", err)
	}
}

func aesgcm(name, secret string) string {
	return fmt.Sprintf("{aesgcm: {keys: [{name: %s, secret: %s}]}}", name, secret)
}

// configure writes an encryption configuration.
func configure(t *testing.T, resource, providers string) (file string) {
	t.Helper()
	return testutil.WriteFile(t, filepath.Join(t.TempDir(), "encryption.yaml"), fmt.Sprintf(
		"apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: [{resources: [%s], providers: [%s]}]\n", resource, providers))
}

// encrypt encrypts a Secret as the API server does.
func encrypt(t *testing.T, file string, e snapshot.Entry) snapshot.Entry {
	t.Helper()
	transformer := transformersOf(t, file).TransformerForResource(schema.GroupResource{Resource: "secrets"})
	var err error
	if e.Value, err = transformer.TransformToStorage(t.Context(), e.Value, value.DefaultContext("/registry"+e.Key)); err != nil {
		t.Fatal(err)
	}
	return e
}

func transformersOf(t *testing.T, file string) value.ResourceTransformers {
	t.Helper()
	config, err := encryptionconfig.LoadEncryptionConfig(t.Context(), file, false, "")
	if err != nil {
		t.Fatal(err)
	}
	return encryptionconfig.StaticTransformers(config.Transformers)
}
