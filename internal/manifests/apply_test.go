package manifests

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

const applyOptions = "?fieldManager=ctrlplane&fieldValidation=Strict"

// crdManifest is the manifest of a CustomResourceDefinition of Foos.
func crdManifest(versions ...string) string {
	text := `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec:
  group: example.com
  names: {kind: Foo, plural: foos}
  scope: Namespaced
  versions:
`
	for _, v := range versions {
		text += "  - {name: " + v + ", served: true}\n"
	}
	return text
}

func mustLoad(t *testing.T, docs ...string) []Object {
	t.Helper()
	t.Chdir(t.TempDir())
	testutil.WriteFiles(t, ".", map[string]string{"a.yaml": strings.Join(docs, "---\n")})
	objs, err := Load(t.Context(), []string{"a.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

func manifest(apiVersion, kind, name string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\n", apiVersion, kind, name)
}

func TestApplyOrder(t *testing.T) {
	s := newFakeServer(t)
	s.lag = 2
	objs := mustLoad(t,
		manifest("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "guard"),
		manifest("example.com/v1", "Foo", "foo"),
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: team}\n",
		crdManifest("v1", "v1beta1"),
		configMapManifest("config"),
		manifest("v1", "Service", "web"),
		manifest("rbac.authorization.k8s.io/v1", "ClusterRole", "reader"),
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: team, namespace: nonsense}\n",
	)
	stored, err := Apply(t.Context(), s.config, objs)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/api/v1/namespaces/team",
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.example.com",
		"/api/v1/namespaces/default/configmaps/config",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles/reader",
		"/apis/example.com/v1/namespaces/default/foos/foo",
		"/apis/apps/v1/namespaces/team/deployments/web",
		"/api/v1/namespaces/default/services/web",
		"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/guard",
	}
	for i := range want {
		want[i] += applyOptions
	}
	if diff := cmp.Diff(want, s.patches); diff != "" {
		t.Errorf("patches (-want +got):\n%s", diff)
	}
	wantBody := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Foo", "metadata": map[string]any{"name": "foo", "namespace": "default"},
	}
	if diff := cmp.Diff(wantBody, s.bodies[4]); diff != "" {
		t.Errorf("the body of Foo (-want +got):\n%s", diff)
	}
	if _, ok := s.bodies[0]["metadata"].(map[string]any)["namespace"]; ok {
		t.Errorf("the Namespace was sent with a namespace")
	}
	for i, o := range stored {
		if o.GetName() != objs[i].GetName() || o.GetKind() != objs[i].GetKind() || o.Unstructured == objs[i].Unstructured {
			t.Errorf("result %d is %s %s, want what the server has stored of %s %s", i, o.GetKind(), o.GetName(), objs[i].GetKind(), objs[i].GetName())
		}
	}
	if ns := stored[1].GetNamespace(); ns != "default" {
		t.Errorf("the Foo was stored in namespace %q", ns)
	}
	if ns := objs[1].GetNamespace(); ns != "" {
		t.Errorf("Apply changed an object: its namespace is %q", ns)
	}
}

// TestApplyControlCharacters applies an object whose JSON is not YAML.
func TestApplyControlCharacters(t *testing.T) {
	s := newFakeServer(t)
	objs := mustLoad(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: \"\\x7f\\x85\\x9b31m\"}\n")
	if _, err := Apply(t.Context(), s.config, objs); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"a": "\u007f\u0085\u009b31m"}
	if diff := cmp.Diff(want, s.bodies[0]["data"]); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
}

// TestApplyWaitsForCRDs applies a definition without objects of its kind.
func TestApplyWaitsForCRDs(t *testing.T) {
	s := newFakeServer(t)
	s.lag = 3
	if _, err := Apply(t.Context(), s.config, mustLoad(t, crdManifest("v1"))); err != nil {
		t.Fatal(err)
	}
	for _, k := range s.kinds {
		if k.kind == "Foo" && k.lag == 0 {
			return
		}
	}
	t.Error("Apply returned before discovery knew the kind")
}

// TestApplyExistingCRD applies to a server that has the definition already, but does
// not serve its kind yet.
func TestApplyExistingCRD(t *testing.T) {
	s := newFakeServer(t)
	definition := mustLoad(t, crdManifest("v1"))[0].Object
	s.crds["foos.example.com"] = definition
	s.addKind(definition, 3)
	if _, err := Apply(t.Context(), s.config, mustLoad(t, manifest("example.com/v1", "Foo", "foo"))); err != nil {
		t.Fatal(err)
	}
	if len(s.patches) != 1 {
		t.Errorf("patches: %q", s.patches)
	}
}

func TestApplyUnknownKind(t *testing.T) {
	tests := []struct {
		name, apiVersion, kind, before, want string
	}{
		{"no definition", "example.com/v1", "Bar", "", "the server has no kind Bar in example.com/v1: correct its spelling, or add its CustomResourceDefinition"},
		{"of another version", "example.com/v2", "Foo", crdManifest("v1") + "---\n", "the server has no kind Foo in example.com/v2: correct its spelling, or add its CustomResourceDefinition"},
		{"misspelt", "v1", "Configmap", "", "the control plane does not serve kind Configmap in v1, a group of Kubernetes: correct its kind and apiVersion"},
		{"removed version", "apps/v1beta1", "Deployment", "", "kind Deployment is not served in apps/v1beta1 but in apps/v1: correct its apiVersion"},
		{"removed group", "extensions/v1beta1", "Deployment", "", "kind Deployment is not served in extensions/v1beta1 but in apps/v1: correct its apiVersion"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newFakeServer(t)
			objs := mustLoad(t, tt.before+manifest(tt.apiVersion, tt.kind, "x"))
			_, err := Apply(t.Context(), s.config, objs)
			want := fmt.Sprintf("manifests: %s: %s x: %s", objs[len(objs)-1].Source, tt.kind, tt.want)
			if err == nil || err.Error() != want || !errors.As(err, new(usage.Error)) {
				t.Errorf("error is\n%v\nwant a mistake\n%s", err, want)
			}
		})
	}
}

// TestApplyGoesOn has objects of which several are refused, some because others are.
func TestApplyGoesOn(t *testing.T) {
	s := newFakeServer(t)
	s.answer = func(path string, _ int) *metav1.Status {
		if strings.HasSuffix(path, "/bad") || strings.HasSuffix(path, "/foos.example.com") {
			return &metav1.Status{Code: 422, Reason: metav1.StatusReasonInvalid, Message: "invalid"}
		}
		return nil
	}
	objs := mustLoad(t,
		manifest("v1", "Namespace", "bad"),
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: inside, namespace: bad}\n",
		crdManifest("v1"),
		manifest("example.com/v1", "Foo", "follows"),
		manifest("example.org/v1", "Bar", "unknown"),
		configMapManifest("good"),
		manifest("v1", "Service", "bad"),
		manifest("apps/v1", "Deployment", "good"),
	)
	_, err := Apply(t.Context(), s.config, objs)
	want := []string{
		"manifests: " + objs[4].Source + ": Bar unknown: the server has no kind Bar in example.org/v1: correct its spelling, or add its CustomResourceDefinition",
		"manifests: " + objs[0].Source + ": Namespace bad: invalid",
		"manifests: " + objs[2].Source + ": CustomResourceDefinition foos.example.com: invalid",
		"manifests: " + objs[6].Source + ": Service bad: invalid",
	}
	if err == nil {
		t.Fatal("no error")
	}
	if lines := ErrorLines(fmt.Errorf("--crds: %w: name others", err)); lines[0] != "--crds: "+want[0] || lines[3] != want[3]+": name others" {
		t.Errorf("wrapped: %q", lines)
	}
	if diff := cmp.Diff(want, ErrorLines(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	applied := []string{"/api/v1/namespaces/default/configmaps/good" + applyOptions, "/apis/apps/v1/namespaces/default/deployments/good" + applyOptions}
	if diff := cmp.Diff(applied, s.patches); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
}

func TestApplyRefused(t *testing.T) {
	const pod, prefix = "/api/v1/namespaces/default/pods/p", "manifests: a.yaml:6: Pod p: "
	tests := []struct {
		name   string
		status metav1.Status
		want   string
	}{
		{"invalid", metav1.Status{Code: 422, Reason: metav1.StatusReasonInvalid, Message: "Pod \"p\" is invalid:\n* spec.containers: Required value\n* x"}, `Pod "p" is invalid: * spec.containers: Required value * x`},
		{"unknown field", metav1.Status{Code: 500, Message: "failed to create typed patch object: .spec.foo: field not declared in schema"}, "failed to create typed patch object: .spec.foo: field not declared in schema"},
		{"too large for etcd", metav1.Status{Code: 500, Message: "etcdserver: request is too large"}, "etcdserver: request is too large"},
		{"forbidden", metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden, Message: "pods \"p\" is forbidden: exceeded quota"}, `pods "p" is forbidden: exceeded quota`},
		{"denied", metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden, Message: `admission webhook "w" denied the request: no`}, `admission webhook "w" denied the request: no`},
		{"no namespace", metav1.Status{Code: 404, Reason: metav1.StatusReasonNotFound, Message: `namespaces "default" not found`}, `namespaces "default" not found`},
		{
			"webhook without a Service", metav1.Status{Code: 400, Message: `failed calling webhook "w": Post "https://w.default.svc": service "w" not found`},
			`failed calling webhook "w": Post "https://w.default.svc": service "w" not found: the programs of Pods do not run here: leave out what configures the webhook, or run it on this machine and set its url`,
		},
		{
			"conflict", metav1.Status{Code: 409, Reason: metav1.StatusReasonConflict, Message: "Apply failed with 1 conflict: conflict with \"kubectl\": .spec.x"},
			`Apply failed with 1 conflict: conflict with "kubectl": .spec.x: remove the field from the file, or take over its ownership with "kubectl apply --server-side --force-conflicts --field-manager=ctrlplane"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newFakeServer(t)
			s.answer = func(path string, _ int) *metav1.Status {
				if path == pod {
					return &tt.status
				}
				return nil
			}
			_, err := Apply(t.Context(), s.config, mustLoad(t, configMapManifest("a"), manifest("v1", "Pod", "p")))
			want := prefix + tt.want
			if err == nil || err.Error() != want || !errors.As(err, new(usage.Error)) {
				t.Errorf("error is\n%v\nwant a mistake\n%s", err, want)
			}
			if s.count[pod] != 1 {
				t.Errorf("%d attempts, want 1", s.count[pod])
			}
			if len(s.patches) != 1 {
				t.Errorf("applied: %q, want only what came before it", s.patches)
			}
		})
	}
}

func TestApplyBadConfig(t *testing.T) {
	s := newFakeServer(t)
	s.config.CAFile = filepath.Join(t.TempDir(), "nope")
	s.config.Host, s.config.Transport = "https://127.0.0.1:1", nil
	if _, err := Apply(t.Context(), s.config, nil); err == nil || !strings.HasPrefix(err.Error(), "manifests: ") {
		t.Errorf("error is %v", err)
	}
}
