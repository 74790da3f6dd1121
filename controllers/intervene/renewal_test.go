package intervene

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/requestkind"
)

const (
	lockPath = "/api/v1/namespaces/shop/configmaps/le"
	lockJSON = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"le","namespace":"shop","uid":"u","resourceVersion":"7",` +
		`"creationTimestamp":"2026-11-30T16:00:00Z","annotations":{"control-plane.alpha.kubernetes.io/leader":"{\"holderIdentity\":\"A\"}","note":"x"},` +
		`"managedFields":[{"manager":"le.py"}]},"data":{"a":"1"}}`
)

// The update or patch of a ConfigMap or of Endpoints that only renews the lock of a leader election is not held, like that of a Lease.
func TestRenewalsOfLocksAreNotHeld(t *testing.T) {
	const leader = `"control-plane.alpha.kubernetes.io/leader":"{\"holderIdentity\":\"A\",\"renewTime\":\"1\"}"`
	// As Python sends it.
	python := func(meta, rest string) string {
		return `{"metadata":{"name":"le","namespace":"shop","uid":"u","creationTimestamp":"2026-11-30T16:00:00+00:00","managedFields":[],` + meta + `},` + rest + `}`
	}
	annotated := func(more string) string { return `"resourceVersion":"7","annotations":{` + leader + more + `}` }
	const data = `"data":{"a":"1"}`
	protobuf := encodeProtobuf(t, &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "le", Namespace: "shop", UID: "u", ResourceVersion: "7",
			Annotations: map[string]string{requestkind.LeaderAnnotation: "{}", "note": "x"},
		},
		Data: map[string]string{"a": "1"},
	})
	const merge, jsonPatch = "application/merge-patch+json", "application/json-patch+json"
	for name, tt := range map[string]struct {
		method, path, media, body string
		held                      bool
	}{
		"update":                    {"PUT", lockPath, "", python(annotated(`,"note":"x"`), data), false},
		"as a Go client":            {"PUT", lockPath, "application/vnd.kubernetes.protobuf", protobuf, false},
		"an outdated version":       {"PUT", lockPath, "", python(strings.Replace(annotated(`,"note":"x"`), "7", "6", 1), data), false},
		"without a version":         {"PUT", lockPath, "", python(strings.Replace(annotated(`,"note":"x"`), `"resourceVersion":"7",`, "", 1), data), true},
		"with version 0":            {"PUT", lockPath, "", python(strings.Replace(annotated(`,"note":"x"`), "7", "0", 1), data), true},
		"with data twice":           {"PUT", lockPath, "", python(annotated(`,"note":"x"`), `"data":{"evil":"1"},`+data), true},
		"with metadata twice":       {"PUT", lockPath, "", `{"metadata":{"finalizers":["x/y"]},` + python(annotated(`,"note":"x"`), data)[1:], true},
		"with data that is null":    {"PUT", lockPath, "", python(annotated(`,"note":"x"`), `"data":{"a":"1","n":null}`), true},
		"merge patch of a null":     {"PATCH", lockPath, merge, `{"metadata":{"annotations":{"control-plane.alpha.kubernetes.io/leader":null}}}`, true},
		"with other data":           {"PUT", lockPath, "", python(annotated(`,"note":"x"`), `"data":{"a":"2"}`), true},
		"with more data":            {"PUT", lockPath, "", python(annotated(`,"note":"x"`), data+`,"binaryData":{"b":"eA=="}`), true},
		"with another annotation":   {"PUT", lockPath, "", python(annotated(`,"note":"y"`), data), true},
		"without an annotation":     {"PUT", lockPath, "", python(annotated(""), data), true},
		"with a label":              {"PUT", lockPath, "", python(annotated(`,"note":"x"`)+`,"labels":{"a":"b"}`, data), true},
		"with a finalizer":          {"PUT", lockPath, "", python(annotated(`,"note":"x"`)+`,"finalizers":["a/b"]`, data), true},
		"without the annotation":    {"PUT", lockPath, "", python(`"resourceVersion":"7","annotations":{"note":"x"}`, data), true},
		"of what does not exist":    {"PUT", lockPath + "2", "", python(annotated(`,"note":"x"`), data), true},
		"of a Secret":               {"PUT", strings.Replace(lockPath, "configmaps", "secrets", 1), "", python(annotated(`,"note":"x"`), data), true},
		"a deletion":                {"DELETE", lockPath, "", `{"note":"control-plane.alpha.kubernetes.io/leader"}`, true},
		"a creation":                {"POST", strings.TrimSuffix(lockPath, "/le"), "", python(annotated(""), data), true},
		"merge patch":               {"PATCH", strings.Replace(lockPath, "configmaps", "endpoints", 1), merge, `{"metadata":{"annotations":{` + leader + `}}}`, false},
		"strategic merge patch":     {"PATCH", lockPath, "application/strategic-merge-patch+json", `{"metadata":{` + annotated("") + `}}`, false},
		"merge patch of more":       {"PATCH", lockPath, merge, `{"metadata":{"annotations":{` + leader + `},"labels":null}}`, true},
		"merge patch of data":       {"PATCH", lockPath, merge, `{"metadata":{"annotations":{` + leader + `}},"data":{"a":null}}`, true},
		"merge patch of two":        {"PATCH", lockPath, merge, `{"metadata":{"annotations":{` + leader + `,"note":"y"}}}`, true},
		"JSON patch":                {"PATCH", lockPath, jsonPatch, `[{"op":"test","path":"/data/a","value":"1"},{"op":"replace","path":"/metadata/annotations/control-plane.alpha.kubernetes.io~1leader","value":"{}"}]`, false},
		"JSON patch of more":        {"PATCH", lockPath, jsonPatch, `[{"op":"add","path":"/metadata/annotations/control-plane.alpha.kubernetes.io~1leader","value":"{}"},{"op":"remove","path":"/data/a"}]`, true},
		"JSON patch by a move":      {"PATCH", lockPath, jsonPatch, `[{"op":"move","from":"/data/a","path":"/metadata/annotations/control-plane.alpha.kubernetes.io~1leader"}]`, true},
		"server-side apply":         {"PATCH", lockPath, "application/apply-patch+yaml", `{"metadata":{"annotations":{` + leader + `}}}`, true},
		"an unreadable body":        {"PUT", lockPath, "", `control-plane.alpha.kubernetes.io/leader`, true},
		"an unreadable JSON object": {"PATCH", lockPath, merge, `["control-plane.alpha.kubernetes.io/leader"]`, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &fakeAPIServer{objects: map[string]string{lockPath: lockJSON, strings.Replace(lockPath, "configmaps", "secrets", 1): lockJSON}}
				g, s := NewGate(ObjectReader{store}), &fakeServer{}
				mustPause(t, g)
				req := httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, strings.NewReader(tt.body))
				req.Header.Set("Content-Type", "application/json")
				if tt.media != "" {
					req.Header.Set("Content-Type", tt.media)
				}
				go g.Handle(httptest.NewRecorder(), req, new(time.Duration), s)
				synctest.Wait()
				if _, held := g.HeldWrites(0); (held == 1) != tt.held {
					t.Errorf("%d held", held)
				}
				g.Resume()
				synctest.Wait()
				if len(s.bodies) != 1 || s.bodies[0] != tt.method+" "+tt.body {
					t.Errorf("the server received %q", s.bodies)
				}
			})
		})
	}
}

// No object is read while nothing is paused.
func TestRenewalsCostNothingWithoutPause(t *testing.T) {
	store := &fakeAPIServer{objects: map[string]string{lockPath: lockJSON}}
	g, s := NewGate(ObjectReader{store}), &fakeServer{}
	if w := serve(t.Context(), g, s, "PUT", lockPath, lockJSON); w.Code != http.StatusCreated || len(store.gets) != 0 {
		t.Errorf("%d, read %q", w.Code, store.gets)
	}
}
