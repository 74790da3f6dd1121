package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/storage"
	storeerrors "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ctrlplane/ctrlplane/observe"
)

// unencodable has no encoding in JSON.
type unencodable struct{ F func() }

// A record says why a write was refused, in upstream's words, but not what was sent.
func TestRefusalHasNoBody(t *testing.T) {
	env := []corev1.EnvVar{{Name: "PASSWORD", Value: `hunter2 "}`}, {Name: "OTHER", Value: "hunter2"}}
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Env: env}}}}
	many := slices.Repeat(env, 5000)
	path := field.NewPath("spec", "template")
	body := []byte("{\"env\": {\"IT'S\": \"'\",\n\"PASSWORD\": \"hunter2\"}}")
	invalid := func(list ...*field.Error) error {
		return apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "once", list)
	}
	const begin = `Job.batch "once" is invalid: `
	for _, tc := range []struct {
		err  error
		want string
	}{
		{invalid(field.Invalid(path, template, "field is immutable")), begin + "spec.template: Invalid value: {…}: field is immutable"},
		{invalid(field.Invalid(path.Child("env"), env, "too many"), field.Invalid(field.NewPath("spec", "parallelism"), -1, "must be positive")),
			begin + "[spec.template.env: Invalid value: […]: too many, spec.parallelism: Invalid value: -1: must be positive]"},
		{invalid(field.Invalid(path, strings.Repeat("x", 2000), ""), field.Invalid(path, template, "")), begin + `[spec.template: Invalid value: "` + strings.Repeat("x", MaxRefusal-len(begin)-35) + "…"},
		{invalid(field.Invalid(path, many, "field is immutable"), field.Invalid(path, template, "too")), begin + "[spec.template: Invalid value: […]: field is immutable, spec.template: Invalid value: {…}: too]"},
		{invalid(field.Duplicate(path, env[0])), begin + "spec.template: Duplicate value: {…}"},
		{invalid(field.NotFound(path, env[0])), begin + "spec.template: Not found: {…}"},
		{invalid(field.NotSupported(path, "Some", []string{"All", "None"})), begin + `spec.template: Unsupported value: "Some": supported values: "All", "None"`},
		{invalid(field.Invalid(path, []unencodable{{}}, "cannot be encoded")), begin + "spec.template: Invalid value: {…}: cannot be encoded"},
		{apierrors.NewBadRequest(runtime.NewMissingKindErr(string(body)).Error()), "Object 'Kind' is missing in '…"},
		{apierrors.NewBadRequest(runtime.NewMissingVersionErr(string(body)).Error()), "Object 'apiVersion' is missing in '…"},
		{apierrors.NewBadRequest("failed to create typed patch object (ns/web; apps/v1, Kind=Deployment): .spec.env: expected list, got &{map[PASSWORD:hunter2]}"),
			"failed to create typed patch object (ns/web; apps/v1, Kind=Deployment): .spec.env: expected list, got &…"},
		{apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web", errors.New("exceeded quota: few\n core.PodSpec{Env: hunter2}")), `pods "web" is forbidden: exceeded quota: few`},
	} {
		status, ok := tc.err.(apierrors.APIStatus)
		if !ok {
			t.Fatal(tc.err)
		}
		c := refusedCall(t, "batch", "jobs", status.Status())
		if diff := cmp.Diff(tc.want, c.Error); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// The message about a Secret may quote a value of it in any form.
func TestRefusalOfASecretIsItsReason(t *testing.T) {
	status := metav1.Status{Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "webhook: hunter2 is short"}
	if c := refusedCall(t, "", "secrets", status); c.Error != "422 Invalid" {
		t.Errorf("got %q", c.Error)
	}
	injected := apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "once", errors.New(observe.InjectedFault)).Status()
	if c := refusedCall(t, "", "secrets", injected); c.Error != "409 Conflict: fault injected by ctrlplane" || !c.IsInjected() {
		t.Errorf("got %q for a fault that is injected", c.Error)
	}
	ending := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "once", errors.New("unable to create new content in namespace ns "+observe.NamespaceTerminating)).Status()
	if c := refusedCall(t, "", "secrets", ending); c.Error != "403 Forbidden: "+observe.NamespaceTerminating {
		t.Errorf("in a namespace that is being deleted: %q", c.Error)
	}
	restored := apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "once", errors.New(observe.RestoredMeanwhile+": read the object again")).Status()
	if c := refusedCall(t, "", "secrets", restored); c.Error != "409 Conflict: "+observe.RestoredMeanwhile {
		t.Errorf("got %q for a write that a restore refuses", c.Error)
	}
	canceled := apierrors.NewServiceUnavailable(observe.NotPerformed + ": context canceled").Status()
	if c := refusedCall(t, "", "secrets", canceled); c.Error != "503 ServiceUnavailable: "+observe.NotPerformed {
		t.Errorf("got %q for a write that its client canceled while it was held", c.Error)
	}
	status.Message = strings.Repeat("long ", 1000)
	if c := refusedCall(t, "", "pods", status); len(c.Error) > 1<<10 || !strings.HasPrefix(c.Error, "long long") {
		t.Errorf("got %d bytes: %q", len(c.Error), c.Error)
	}
}

// The message of a refused eviction does not name the PodDisruptionBudget, one of its causes does, in both formats.
func TestRefusedEvictionNamesItsBudget(t *testing.T) {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "Other", Message: "other"}, {Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget web needs 2 healthy pods and has 2 currently"}}
	const want = "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 2 healthy pods and has 2 currently"
	if c := refusedCall(t, "", "pods", err.Status()); c.Error != want {
		t.Errorf("got %q", c.Error)
	}
	encoded, encodeErr := runtime.Encode(scheme.Codecs.EncoderForVersion(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), schema.GroupVersion{Version: "v1"}), &err.ErrStatus)
	if encodeErr != nil {
		t.Fatal(encodeErr)
	}
	c := &observe.Called{Verb: "create", Status: http.StatusTooManyRequests}
	ParseResponse(runtime.ContentTypeProtobuf, encoded).AddTo(c)
	if c.Error != want {
		t.Errorf("in protobuf: got %q", c.Error)
	}
}

// Policy engines write a blank line first, and the rule last. Objects are left out of a message of several lines, too.
func TestRefusalOfSeveralLines(t *testing.T) {
	const kyverno = "admission webhook \"validate.kyverno.svc-fail\" denied the request: "
	const rbac = `user "a" (groups=["b"]) is attempting to grant RBAC permissions not currently held:`
	const fixed = "Pod \"p\" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.tolerations`"
	for message, want := range map[string]string{
		kyverno + "\n\nresource Pod/ns/x was blocked due to the following policies\n\nlatest:\n  tag: 'validation error: {{ image }} needs a tag'\n": kyverno + "resource Pod/ns/x was blocked due to the following policies latest: tag: 'validation error: {{ image }} needs a tag'",
		"\n\nno owner\n":             "no owner",
		"[a] no owner\r\n[b] no tag": "[a] no owner [b] no tag",
		"Apply failed with 2 conflicts: conflicts with \"m\":\n- .spec.replicas\n- .spec.paused": "Apply failed with 2 conflicts: conflicts with \"m\": - .spec.replicas - .spec.paused",
		rbac + "\n{APIGroups:[\"apps\"], Resources:[\"deployments\"], Verbs:[\"get\"]}":          rbac + ` {APIGroups:["apps"], Resources:["deployments"], Verbs:["get"]}`,
		fixed + "\n@@ -3,4 +3,4 @@\n  \"env\": {\n-  \"value\": \"hunter2\"":                     fixed,
		fixed + "\n\u00a0\u00a0core.PodSpec{\n-\tEnv: hunter2,":                                  fixed,
		"not allowed: @@ -1 +1 @@\n-hunter2":                                                     "not allowed:",
		"The order in patch list:\n[map[name:PASSWORD value:hunter2]]\n doesn't match":           "The order in patch list:",
		"denied:\n{\n  \"value\": \"hunter2\"":                                                   "denied:",
		"spec: Invalid value: {\n  \"value\": \"hunter2\"\n}: too short\nas the policy says":     "spec: Invalid value: {…}: too short as the policy says",
		strings.Repeat("long\n", 1000):                                                           strings.Repeat("long ", MaxRefusal/5) + "l…",
	} {
		status := metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: message}
		if c := refusedCall(t, "", "pods", status); c.Error != want {
			t.Errorf("%q:\ngot  %q\nwant %q", message, c.Error, want)
		}
		if c := refusedCall(t, "", "secrets", status); c.Error != "403 Forbidden" {
			t.Errorf("a Secret: %q", c.Error)
		}
	}
}

// The error of a sync may have the text of a refused write.
func TestErrorOfASyncHasNoBody(t *testing.T) {
	long := strings.Repeat("x", 2*MaxRefusal)
	for text, want := range map[string]string{
		"no luck\nat all": "no luck\nat all",
		`restore info: Job.batch "low1" is invalid: spec.template: Invalid value: {"a":"` + long + `"}: field is immutable`: `restore info: Job.batch "low1" is invalid: spec.template: Invalid value: {…}: field is immutable`,
		`spec.template: Invalid value: {"a":"` + long:                       "spec.template: Invalid value: {…}", // an older module has cut it
		"key host is missing in 'values.yaml': set it":                      "key host is missing in 'values.yaml': set it",
		"field size: expected string, got &int: fix the template":           "field size: expected string, got &int: fix the template",
		`create web: Object 'Kind' is missing in '{"env":"hunter2"}'`:       "create web: Object 'Kind' is missing in '…",
		"apply web: .spec.env: expected list, got &{map[PASSWORD:hunter2]}": "apply web: .spec.env: expected list, got &…",
		long: long[:MaxRefusal-3] + "…",
	} {
		if got := SyncError(text); got != want {
			t.Errorf("%.80s: got %.200s", text, got)
		}
	}
}

// refusedCall returns the record of an update that is answered with a status.
func refusedCall(t *testing.T, group, resource string, status metav1.Status) *observe.Called {
	t.Helper()
	status.Kind = "Status"
	body, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	c := &observe.Called{Verb: "update", Object: observe.Object{Group: group, Resource: resource, Name: "once"}, Status: int(status.Code)}
	ParseResponse("application/json", body).AddTo(c)
	return c
}

// A conflict is a write of an object that was modified since it was read. The API server answers others with
// the same reason, which to try again does not help.
func TestOnlyAModifiedObjectIsAConflict(t *testing.T) {
	for message, want := range map[string]bool{
		"the object has been modified; please apply your changes to the latest version and try again":                                       true,
		"Precondition failed: ResourceVersion in precondition: 7, ResourceVersion in object meta: 8":                                        true,
		"the ResourceVersion in the precondition (7) does not match the ResourceVersion in record (8). The object might have been modified": true,
		"the control plane was restored to another state while this write waited: read the object again":                                    true,
		observe.InjectedFault: true,
		"Precondition failed: UID in precondition: a, UID in object meta: b":                                                                              false,
		"the UID in the precondition (a) does not match the UID in record (b). The object might have been deleted and then recreated":                     false,
		"pod web-0 is being deleted, cannot be assigned to a host":                                                                                        false,
		"pod web-0 is already assigned to node \"n1\"":                                                                                                    false,
		"The system is ensuring all content is removed from this namespace.  Upon completion, this namespace will automatically be purged by the system.": false,
	} {
		status := apierrors.NewConflict(schema.GroupResource{Group: "apps", Resource: "deployments"}, "once", errors.New(message)).Status()
		if c := refusedCall(t, "apps", "deployments", status); c.Conflict != want || c.Error != status.Message {
			t.Errorf("%s: conflict %v, error %q", message, c.Conflict, c.Error)
		}
	}
	status := apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "once", errors.New("the object has been modified; please apply your changes to the latest version and try again")).Status()
	if c := refusedCall(t, "", "secrets", status); !c.Conflict || c.Error != "409 Conflict" {
		t.Errorf("a Secret: conflict %v, error %q", c.Conflict, c.Error)
	}
}

// Some kinds can be created with an update. An update with the UID of a deleted object of them is a conflict, unless
// there is another object of that name.
func TestAnUpdateOfADeletedObjectIsAConflict(t *testing.T) {
	read := types.UID("a")
	for stored, want := range map[types.UID]bool{"": true, "b": false} {
		err := (&storage.Preconditions{UID: &read}).Check("/registry/services/specs/default/once", &corev1.Service{ObjectMeta: metav1.ObjectMeta{UID: stored}})
		var refused *apierrors.StatusError
		if !errors.As(storeerrors.InterpretUpdateError(err, schema.GroupResource{Resource: "services"}, "once"), &refused) {
			t.Fatal(err)
		}
		if c := refusedCall(t, "", "services", refused.ErrStatus); c.Conflict != want || c.Error != strings.TrimSpace(refused.ErrStatus.Message) {
			t.Errorf("stored UID %q: conflict %v, error %q", stored, c.Conflict, c.Error)
		}
	}
	applied := apierrors.NewConflict(schema.GroupResource{Resource: "services"}, "once", errors.New("uid mismatch: the provided object specified uid a, and no existing object was found")).Status()
	if c := refusedCall(t, "", "services", applied); !c.Conflict {
		t.Errorf("server-side apply: no conflict: %q", c.Error)
	}
}

// A refused creation has the name that was sent, in both formats: the answer and the path need not have it. That of a generated
// name has none, though the answer has the one of this attempt.
func TestRefusedCreationsAreNamed(t *testing.T) {
	denied := apierrors.NewBadRequest(`admission webhook "deny.example.com" denied the request`).Status()
	denied.Details = &metav1.StatusDetails{Name: "web-x7k2p"}
	for name, sent := range map[string]metav1.ObjectMeta{
		"default": {Name: "default", Namespace: "default"},
		"":        {GenerateName: "web-", Namespace: "default"},
	} {
		for _, media := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
			o := observe.New(observe.Options{})
			defer o.Close()
			transport := callRecorder{roundTripper(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 400, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(encodeObject(t, &denied, "application/json")))}, nil
			}), o.Recorder("c")}
			body := bytes.NewReader(encodeObject(t, &corev1.ServiceAccount{ObjectMeta: sent}, media))
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://127.0.0.1/api/v1/namespaces/default/serviceaccounts", body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", media)
			resp, err := transport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if got := onlyCall(t, o).Object.Name; got != name {
				t.Errorf("%s: got the name %q, want %q", media, got, name)
			}
		}
	}
}
