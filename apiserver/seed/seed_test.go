package seed

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ctrlplane/ctrlplane/internal/upstreamversion"
)

// Each version that Kubernetes can be has a seed, and the program has no others.
func TestEachVersionHasASeed(t *testing.T) {
	entries, err := files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	for _, minor := range upstreamversion.Minors() {
		want = append(want, FileName(minor))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("make seed (-want +got):\n%s", diff)
	}
}

func TestPairsHaveNewIdentities(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	uids := map[string]string{}
	for range 2 {
		pairs, err := Pairs(upstreamversion.Minors()[0], now)
		if err != nil {
			t.Fatal(err)
		}
		if len(pairs) < 150 {
			t.Fatalf("%d objects, want at least 150", len(pairs))
		}
		for _, p := range pairs {
			if !strings.HasPrefix(p.Key, "/registry/clusterroles/") && !strings.HasPrefix(p.Key, "/registry/namespaces/") {
				continue
			}
			meta := decodeMeta(t, p)
			if other, taken := uids[string(meta.UID)]; taken || meta.UID == "" {
				t.Errorf("%s: UID %q is also that of %s", p.Key, meta.UID, other)
			}
			uids[string(meta.UID)] = p.Key
			if !meta.CreationTimestamp.Time.Equal(now) || !strings.HasSuffix(p.Key, "/"+meta.Name) {
				t.Errorf("%s: created %v, named %q", p.Key, meta.CreationTimestamp, meta.Name)
			}
			for _, m := range meta.ManagedFields {
				if !m.Time.Time.Equal(now) {
					t.Errorf("%s: managed since %v", p.Key, m.Time)
				}
			}
		}
	}
}

// decodeMeta decodes a whole ClusterRole or Namespace and returns its metadata.
func decodeMeta(t *testing.T, p Pair) *metav1.ObjectMeta {
	t.Helper()
	var unknown runtime.Unknown
	if err := unknown.Unmarshal(bytes.TrimPrefix(p.Value, protobufMagic)); err != nil {
		t.Fatalf("%s: %v", p.Key, err)
	}
	if unknown.Kind == "Namespace" {
		var ns corev1.Namespace
		if err := ns.Unmarshal(unknown.Raw); err != nil || ns.Status.Phase != corev1.NamespaceActive {
			t.Fatalf("%s: %v, phase %q", p.Key, err, ns.Status.Phase)
		}
		return &ns.ObjectMeta
	}
	var role rbacv1.ClusterRole
	if err := role.Unmarshal(unknown.Raw); err != nil || len(role.Rules) == 0 && role.AggregationRule == nil && role.Name != "system:public-info-viewer" {
		t.Fatalf("%s: %v, %d rules", p.Key, err, len(role.Rules))
	}
	return &role.ObjectMeta
}

func TestPackRoundTrip(t *testing.T) {
	pairs := []Pair{{"/registry/apiregistration.k8s.io/apiservices/v1.", []byte(`{"metadata":{"name":"v1."},"spec":{}}`)}}
	data, err := Pack(pairs)
	if err != nil {
		t.Fatal(err)
	}
	got, err := unpack(bytes.NewReader(data), time.Now())
	if err != nil || len(got) != 1 || got[0].Key != pairs[0].Key || !bytes.Contains(got[0].Value, []byte(`"uid"`)) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := unpack(bytes.NewReader(data[:len(data)/2]), time.Now()); err == nil {
		t.Error("a seed cut short: got no error")
	}
	if _, err := Pairs("1.3", time.Now()); err == nil {
		t.Error("a version without a seed: got no error")
	}
}

func TestRenewObjectRefusesUnknownEncodings(t *testing.T) {
	for name, value := range map[string][]byte{
		"empty":                          nil,
		"not protobuf":                   append(bytes.Clone(protobufMagic), 0xff),
		"without metadata":               append(bytes.Clone(protobufMagic), 0x12, 0x02, 0x10, 0x01), // Unknown with Raw = field 2
		"JSON cut short":                 []byte(`{"metadata":{`),
		"JSON without a metadata object": []byte(`{"metadata":[]}`),
	} {
		if _, err := renewObject(value, time.Now()); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}
