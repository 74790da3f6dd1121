package manifests

import (
	"fmt"
	"testing"
)

func TestLineOfField(t *testing.T) {
	const deployment = `# before
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replica: 3
  template:
    spec:
      containers:
      - name: a
        image: x
      - name: b
        ports:
        - {containerPort: 80, protocol: TCP, x: 1}
        img: y
`
	const list = `apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: b}
  dota: {}
  data:
    "bad key": x
`
	const json = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
{"apiVersion": "v1", "kind": "ConfigMap",
 "metadata": {"name": "b"},
 "data": {"a": 1}}
`
	const aliases = `apiVersion: v1
kind: ConfigMap
metadata: &m
  name: b
  label: x
data: {a: b}
other: *m
`
	const keys = `apiVersion: v1
kind: Service
metadata:
  name: web
  annotations:
    prometheus.io/port: 8080
spec:
  ports:
  - {port: 80, protocol: UDP}
  - port: 80
    targetport: x
data:
  a: b
  app.port: 1
specs: {}
`
	for _, test := range []struct {
		text, message, want string
		object              int
	}{
		{deployment, "failed to create typed patch object (default/web; apps/v1, Kind=Deployment): .spec.replica: field not declared in schema", "a.yaml:7", 0},
		{deployment, "errors:\n  .spec.template.spec.containers[name=\"b\"].img: field not declared in schema\n  .spec.replica: field not declared in schema", "a.yaml:16", 0},
		{deployment, `.spec.template.spec.containers[name="b"].ports[containerPort=80,protocol="TCP"].x: field not declared in schema`, "a.yaml:15", 0},
		{deployment, `Deployment.apps "web" is invalid: [spec.template.spec.containers[1].image: Required value, spec.selector: Required value]`, "a.yaml:13", 0},
		{deployment, `Deployment.apps "web" is invalid: spec.selector: Required value`, "a.yaml:6", 0},
		{deployment, `Deployment.apps "web" is invalid: spec.template.spec.containers[7].image: Required value`, "a.yaml:10", 0},
		{deployment, `strict decoding error: unknown field "spec.replica"`, "a.yaml:7", 0},
		{deployment, `admission webhook "policy.example.com" denied the request: spec.replica: 3 is too many`, "a.yaml:7", 0},
		{deployment, `namespaces "shop" not found`, "a.yaml:2", 0},
		{deployment, `a.b.c: no such field`, "a.yaml:2", 0},
		{list, `.metadata.name: x`, "a.yaml:4, item 1", 0},
		{list, `ConfigMap "b" is invalid: data[bad key]: Invalid value: "bad key"`, "a.yaml:10, item 2", 1},
		{json, `.metadata.name: x`, "a.yaml:1", 0},
		{json, `.data.a: expected string, got &value.valueUnstructured{Value:1}`, "a.yaml:4", 1},
		{keys, `failed to create typed patch object (default/web; /v1, Kind=Service): .specs: field not declared in schema`, "a.yaml:15", 0},
		{keys, "errors:\n  .metadata.annotations.prometheus.io/port: expected string, got 8080\n  .spec.x: field not declared in schema", "a.yaml:6", 0},
		{keys, `.spec.ports[port=80,protocol="TCP"].targetport: field not declared in schema`, "a.yaml:11", 0},
		{keys, `.data.app.port: expected string`, "a.yaml:14", 0},
		{keys, `Service "web" is invalid: data[app.port]: Invalid value`, "a.yaml:14", 0},
		{keys, `spec: wrong`, "a.yaml:1", 0},
		{"text: \"a\u2028b\"\n" + keys, `.data.app.port: expected string`, "a.yaml:1", 0},
		{aliases, `.other.label: field not declared in schema`, "a.yaml:5", 0},
	} {
		objects, errs := parseFile("a.yaml", []byte(test.text))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if got := objects[test.object].from.ofMessage(test.message); got != test.want {
			t.Errorf("%s: got %s, want %s", test.message, got, test.want)
		}
	}
}

// TestManyRefusedItems parses their document once, and not for messages without a field.
func TestManyRefusedItems(t *testing.T) {
	text := "apiVersion: v1\nkind: List\nitems:\n"
	for range 100 {
		text += "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dota: {}}\n"
	}
	objects, errs := parseFile("a.yaml", []byte(text))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	allocations := func(message string) float64 {
		return testing.AllocsPerRun(10, func() { _ = objects[0].from.ofMessage(message) })
	}
	if unnamed, named := allocations("no kind ConfigMap in v1"), allocations(".dota: field not declared in schema"); unnamed > 20 || named > 60 {
		t.Errorf("%v and %v allocations", unnamed, named)
	}
	for i, o := range objects {
		if got, want := o.from.ofMessage(".dota: field not declared in schema"), fmt.Sprintf("a.yaml:%d, item %d", i+4, i+1); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestLineOfFieldAfterOtherDocuments counts from the beginning of the file.
func TestLineOfFieldAfterOtherDocuments(t *testing.T) {
	for before, line := range map[string]int{"": 5, "---\n# one\n\n": 8, configMapManifest("a") + "---\n": 10} {
		objects, errs := parseFile("a.yaml", []byte(before+configMapManifest("b")+"data: {a: 1}\n"))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		want := fmt.Sprintf("a.yaml:%d", line)
		if got := objects[len(objects)-1].from.ofMessage(".data.a: expected string"); got != want {
			t.Errorf("%q: got %s, want %s", before, got, want)
		}
	}
}
