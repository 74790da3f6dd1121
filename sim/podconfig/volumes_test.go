package podconfig

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestVolumeFiles(t *testing.T) {
	mode := int32(0o644)
	here := corev1.LocalObjectReference{Name: "s"}
	none := corev1.LocalObjectReference{Name: "none"}
	for name, test := range map[string]struct {
		source corev1.VolumeSource
		want   map[string]string // content and mode by path
		err    string
	}{
		"ConfigMap": {
			source: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: here, DefaultMode: &mode}},
			want:   map[string]string{"key": "map $(A) 644", "other": "2 644"},
		},
		"items": {
			source: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s", DefaultMode: &mode, Items: []corev1.KeyToPath{{Key: "key", Path: "a/b", Mode: new(int32(0o400))}}}},
			want:   map[string]string{"a/b": "secret 400"},
		},
		"missing": {
			source: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: none, DefaultMode: &mode}},
			err:    `configmaps "none" not found`,
		},
		"missing key": {
			source: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: here, DefaultMode: &mode, Items: []corev1.KeyToPath{{Key: "none", Path: "x"}}}},
			err:    "configmap references non-existent config key: none",
		},
		"optional": {
			source: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "none", DefaultMode: &mode, Optional: new(true)}},
			want:   map[string]string{},
		},
		"downward API": {
			source: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{DefaultMode: &mode, Items: []corev1.DownwardAPIVolumeFile{
				{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}},
				{Path: "cpu", ResourceFieldRef: &corev1.ResourceFieldSelector{ContainerName: "c", Resource: "limits.cpu"}},
			}}},
			want: map[string]string{"labels": `app="web" 644`, "cpu": "32 644"},
		},
		"projected": {
			source: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: &mode, Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", Audience: "vault"}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: here, Items: []corev1.KeyToPath{{Key: "other", Path: "n"}}}},
				{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Path: "ca", Optional: new(true)}},
			}}},
			want: map[string]string{"token": "token ns default p vault 644", "n": "2 644", "ca": " 644"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := VolumeFiles(t.Context(), testPod(), &corev1.Volume{VolumeSource: test.source}, fakeSource{})
			if test.err != "" {
				if err == nil || err.Error() != test.err {
					t.Errorf("got %v, want %s", err, test.err)
				}
				return
			}
			got := map[string]string{}
			for path, f := range files {
				got[path] = fmt.Sprintf("%s %o", f.Data, f.Mode)
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("error %v, difference:\n%s", err, diff)
			}
		})
	}
}

func TestSystemFiles(t *testing.T) {
	pod := testPod()
	pod.Spec.Subdomain, pod.Spec.DNSPolicy = "sub", corev1.DNSClusterFirst
	pod.Spec.HostAliases = []corev1.HostAlias{{IP: "1.2.3.4", Hostnames: []string{"a", "b"}}}
	const hosts = "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\nfe00::0\tip6-localnet\n" +
		"fe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n10.1.0.1\tp.sub.ns.svc.cluster.local\tp\n\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n"
	if diff := cmp.Diff(hosts, string(HostsFile(pod))); diff != "" {
		t.Error(diff)
	}
	pod.Spec.DNSConfig = &corev1.PodDNSConfig{Options: []corev1.PodDNSConfigOption{{Name: "ndots", Value: new("2")}, {Name: "edns0"}}, Searches: []string{"example.com"}}
	const resolv = "search ns.svc.cluster.local svc.cluster.local cluster.local example.com\nnameserver 10.0.0.10\noptions ndots:2 edns0\n"
	if diff := cmp.Diff(resolv, string(ResolvConf(pod, "10.0.0.10"))); diff != "" {
		t.Error(diff)
	}
}

// largeSource has one large ConfigMap.
type largeSource struct{ fakeSource }

func (largeSource) ConfigMap(context.Context, string, string) (*corev1.ConfigMap, error) {
	return &corev1.ConfigMap{Data: map[string]string{"key": strings.Repeat("x", 1<<20)}}, nil
}

func TestVolumeFilesAreBounded(t *testing.T) {
	items := make([]corev1.KeyToPath, 65)
	for i := range items {
		items[i] = corev1.KeyToPath{Key: "key", Path: strconv.Itoa(i)}
	}
	source := &corev1.ConfigMapVolumeSource{Items: items, DefaultMode: new(int32(0o644))}
	_, err := VolumeFiles(t.Context(), testPod(), &corev1.Volume{VolumeSource: corev1.VolumeSource{ConfigMap: source}}, largeSource{})
	if err == nil || !strings.Contains(err.Error(), "larger than 67108864 bytes") {
		t.Errorf("got %v", err)
	}
	source.Items = items[:64]
	if _, err := VolumeFiles(t.Context(), testPod(), &corev1.Volume{VolumeSource: corev1.VolumeSource{ConfigMap: source}}, largeSource{}); err != nil {
		t.Error(err)
	}
}

// TestCredentialsBelongToTheUser compares with the projected volume of a kubelet.
func TestCredentialsBelongToTheUser(t *testing.T) {
	for name, test := range map[string]struct {
		pod, container *int64
		mode           int32
		user           *int64
	}{
		"none":         {mode: 0o644},
		"of the Pod":   {pod: new(int64(1000)), mode: 0o600, user: new(int64(1000))},
		"of container": {container: new(int64(7)), mode: 0o600, user: new(int64(7))},
	} {
		t.Run(name, func(t *testing.T) {
			pod := testPod()
			pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: test.pod}
			pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{RunAsUser: test.container}
			files, err := VolumeFiles(t.Context(), pod, &corev1.Volume{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				DefaultMode: new(int32(0o644)), Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}},
			}}}, fakeSource{})
			got := files["token"]
			if diff := cmp.Diff(test.user, got.FsUser); err != nil || diff != "" || got.Mode != test.mode {
				t.Errorf("error %v, mode %o, user:\n%s", err, got.Mode, diff)
			}
		})
	}
}
