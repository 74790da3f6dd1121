package podconfig

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
)

// fakeSource has the ConfigMap and the Secret "s", and the Services of a cluster.
type fakeSource struct{}

func (fakeSource) ConfigMap(_ context.Context, _, name string) (*corev1.ConfigMap, error) {
	if name != "s" {
		return nil, apierrors.NewNotFound(corev1.Resource("configmaps"), name)
	}
	return &corev1.ConfigMap{Data: map[string]string{"key": "map $(A)", "other": "2"}}, nil
}

func (fakeSource) Secret(_ context.Context, _, name string) (*corev1.Secret, error) {
	if name != "s" {
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), name)
	}
	return &corev1.Secret{Data: map[string][]byte{"key": []byte("secret")}}, nil
}

func (fakeSource) Services(context.Context, string) ([]*corev1.Service, error) {
	service := func(namespace, name, ip string) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec:       corev1.ServiceSpec{ClusterIP: ip, Ports: []corev1.ServicePort{{Port: 80}}},
		}
	}
	return []*corev1.Service{service("default", "kubernetes", "10.0.0.1"), service("ns", "web-a", "10.0.0.2"), service("ns", "headless", "None")}, nil
}

func (fakeSource) Token(_ context.Context, namespace, account string, r *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	made := r.DeepCopy()
	made.Status.Token = strings.Join([]string{"token", namespace, account, r.Spec.BoundObjectRef.Name, strings.Join(r.Spec.Audiences, "+")}, " ")
	return made, nil
}

func (fakeSource) TrustBundle(context.Context, *corev1.ClusterTrustBundleProjection) ([]byte, error) {
	return nil, apierrors.NewNotFound(corev1.Resource("clustertrustbundles"), "t")
}

func (fakeSource) File(_ context.Context, _ *corev1.Pod, volume, path string, _ int64) ([]byte, error) {
	data, ok := map[string]string{
		"v/good": "# comment\nA='1'\n B='two\nlines' # and a comment\nEMPTY=''\n",
		"v/bad":  "A=1\n",
		"v/long": "A='" + strings.Repeat("x", 70<<10) + "'\n",
	}[volume+"/"+path]
	if !ok {
		return nil, fmt.Errorf("open %s: %w", path, fs.ErrNotExist)
	}
	return []byte(data), nil
}

func (fakeSource) Allocatable(context.Context, string) (corev1.ResourceList, error) {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("256Gi")}, nil
}

func testPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: types.UID("u"), Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: "n", ServiceAccountName: "default", EnableServiceLinks: new(false), Containers: []corev1.Container{{Name: "c"}}},
		Status:     corev1.PodStatus{PodIP: "10.1.0.1", PodIPs: []corev1.PodIP{{IP: "10.1.0.1"}}, HostIP: "172.16.0.1"},
	}
}

func environmentOf(t *testing.T, change func(*corev1.Pod, *corev1.Container)) (map[string]string, error) {
	t.Helper()
	pod := testPod()
	change(pod, &pod.Spec.Containers[0])
	list, err := Environment(t.Context(), pod, &pod.Spec.Containers[0], fakeSource{})
	values := map[string]string{}
	for _, v := range list {
		if !strings.HasPrefix(v.Name, "KUBERNETES_") {
			values[v.Name] = v.Value
		}
	}
	return values, err
}

func field(path string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}
}

func configMapKey(name, key string, optional *bool) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key, Optional: optional}}
}

func secretKey(name, key string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key}}
}

func TestEnvironment(t *testing.T) {
	got, err := environmentOf(t, func(pod *corev1.Pod, c *corev1.Container) {
		c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
		c.EnvFrom = []corev1.EnvFromSource{
			{Prefix: "CM_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}},
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}},
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "none"}, Optional: new(true)}},
		}
		c.Env = []corev1.EnvVar{
			{Name: "A", Value: "1"},
			{Name: "B", Value: "$(A) $(CM_other) $(LATER) $$(A) $(KUBERNETES_SERVICE_HOST)"},
			{Name: "LATER", Value: "x"},
			{Name: "FIELD", ValueFrom: field("metadata.labels['app']")},
			{Name: "IPS", ValueFrom: field("status.podIPs")},
			{Name: "HOST", ValueFrom: field("status.hostIP")},
			{Name: "NODE", ValueFrom: field("spec.nodeName")},
			{Name: "CPU", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}},
			{Name: "MEMORY", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory", Divisor: resource.MustParse("1Mi")}}},
			{Name: "KEY", ValueFrom: configMapKey("s", "key", nil)},
			{Name: "SECRET", ValueFrom: secretKey("s", "key")},
			{Name: "OPTIONAL", ValueFrom: configMapKey("none", "key", new(true))},
			{Name: "OPTIONALKEY", ValueFrom: configMapKey("s", "none", new(true))},
		}
	})
	want := map[string]string{
		"CM_key": "map $(A)", "CM_other": "2", "key": "secret", "A": "1", "B": "1 2 $(LATER) $(A) 10.0.0.1", "LATER": "x",
		"FIELD": "web", "IPS": "10.1.0.1", "HOST": "172.16.0.1", "NODE": "n", "CPU": "32", "MEMORY": "64", "KEY": "map $(A)", "SECRET": "secret",
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, difference:\n%s", err, diff)
	}
}

// TestEnvironmentErrors compares with what a kubelet reports.
func TestEnvironmentErrors(t *testing.T) {
	for want, source := range map[string]*corev1.EnvVarSource{
		`configmaps "none" not found`:              configMapKey("none", "key", nil),
		"couldn't find key none in ConfigMap ns/s": configMapKey("s", "none", nil),
		`secrets "none" not found`:                 secretKey("none", "key"),
		"couldn't find key none in Secret ns/s":    secretKey("s", "none"),
	} {
		_, err := environmentOf(t, func(_ *corev1.Pod, c *corev1.Container) { c.Env = []corev1.EnvVar{{Name: "A", ValueFrom: source}} })
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestServiceVariables(t *testing.T) {
	for _, links := range []bool{true, false} {
		pod := testPod()
		pod.Spec.EnableServiceLinks = &links
		list, err := Environment(t.Context(), pod, &pod.Spec.Containers[0], fakeSource{})
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]string{}
		for _, v := range list {
			values[v.Name] = v.Value
		}
		if values["KUBERNETES_SERVICE_HOST"] != "10.0.0.1" || (values["WEB_A_SERVICE_HOST"] == "10.0.0.2") != links || values["HEADLESS_SERVICE_HOST"] != "" {
			t.Errorf("with links %v: %v", links, values)
		}
	}
}

func TestReferences(t *testing.T) {
	pod := testPod()
	c := &pod.Spec.Containers[0]
	c.Env = []corev1.EnvVar{{Name: "A", ValueFrom: secretKey("env", "k")}, {Name: "B", ValueFrom: field("spec.nodeName")}}
	pod.Spec.Volumes = []corev1.Volume{
		{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}}}},
		{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: RootCAConfigMap}}},
			{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "p"}}},
		}}}},
	}
	var got []Reference
	for r := range References(pod, c) {
		got = append(got, r)
	}
	want := []Reference{{true, "ns", "env"}, {false, "ns", "m"}, {true, "ns", "p"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestExpansionIsBounded has ten levels of ten references each: 10 GB.
func TestExpansionIsBounded(t *testing.T) {
	_, err := environmentOf(t, func(_ *corev1.Pod, c *corev1.Container) {
		c.Env = []corev1.EnvVar{{Name: "A", Value: "0123456789"}}
		for level := 'A'; level < 'J'; level++ {
			c.Env = append(c.Env, corev1.EnvVar{Name: string(level + 1), Value: strings.Repeat("$("+string(level)+")", 10)})
		}
	})
	if err == nil || err.Error() != `variable "F" is longer than 131072 bytes with its variables expanded` {
		t.Errorf("got %v", err)
	}
	_, err = environmentOf(t, func(_ *corev1.Pod, c *corev1.Container) {
		c.Env = []corev1.EnvVar{{Name: "A", Value: strings.Repeat("x", 100<<10)}}
		for i := range 30 {
			c.Env = append(c.Env, corev1.EnvVar{Name: "V" + strconv.Itoa(i), Value: "$(A)"})
		}
	})
	if err == nil || err.Error() != "the environment is larger than 2097152 bytes" {
		t.Errorf("got %v", err)
	}
}

func TestExpandCommand(t *testing.T) {
	long := []kubecontainer.EnvVar{{Name: "A", Value: "a"}, {Name: "L", Value: strings.Repeat("x", 100<<10)}}
	got, err := ExpandCommand([]string{"$(A) $$(A) $(B) $(", "$$$(A"}, long)
	if diff := cmp.Diff([]string{"a $(A) $(B) $(", "$$(A"}, got); err != nil || diff != "" {
		t.Errorf("error %v, difference:\n%s", err, diff)
	}
	for _, args := range [][]string{{"$(L)$(L)"}, slices.Repeat([]string{"$(L)"}, 30), {strings.Repeat("$(", 100<<10)}} {
		if _, err := ExpandCommand(args, long); err == nil || !strings.HasPrefix(err.Error(), "argument list too long") {
			t.Errorf("got %v", err)
		}
	}
}
