package inspect

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestSecretIsMasked(t *testing.T) {
	c := newCluster(t, `
apiVersion: v1
kind: Secret
metadata:
  namespace: shop
  name: token
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"stringData":{"password":"hunter2"}}'
    note: hello
data:
  password: aHVudGVyMg==
  empty: ""
  odd: "hunter2!"
  number: 7
stringData:
  plain: hunter2
`)
	for name, o := range map[string]observe.Object{
		"by resource": {Resource: "secrets", Namespace: "shop", Name: "token"},
		"by kind":     {Kind: "Secret", Namespace: "shop", Name: "token"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.Inspect(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{
				"password: '*** (7 bytes)'", "empty: '*** (0 bytes)'", "odd: '*** (8 bytes)'", "number: '*** (1 bytes)'",
				"plain: '*** (7 bytes)'", "last-applied-configuration: '*** (37 bytes)'", "note: hello",
			} {
				if !strings.Contains(got.YAML, want) {
					t.Errorf("%q is missing", want)
				}
			}
			for _, secret := range []string{"hunter2", "aHVudGVyMg"} {
				if strings.Contains(got.YAML, secret) {
					t.Errorf("%q is shown", secret)
				}
			}
			if t.Failed() {
				t.Log("\n" + got.YAML)
			}
		})
	}
}

func TestMalformedSecretIsMasked(t *testing.T) {
	u := parseObject(t, `{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: `+
		`{kubectl.kubernetes.io/last-applied-configuration: hunter2, count: 3}}, data: hunter2, stringData: [hunter2]}`)
	got, err := renderYAML(u, true)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(got, "hunter2") {
		t.Error(got)
	}
}

func TestOnlySecretsAreMasked(t *testing.T) {
	c := newCluster(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web, annotations: `+
		`{kubectl.kubernetes.io/last-applied-configuration: applied}}, data: {a: b}}`)
	got, err := c.Inspect(t.Context(), webDeployment)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.YAML, "last-applied-configuration: applied") || !strings.Contains(got.YAML, "a: b") {
		t.Error(got.YAML)
	}
}

func TestLongTextIsTruncated(t *testing.T) {
	for _, letter := range []string{"x", "é"} { // é is cut within the rune
		u := parseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}`)
		u.Object["data"] = map[string]any{"a": strings.Repeat(letter, 300<<10)}
		got, err := renderYAML(u, false)
		if err != nil {
			t.Fatal(err)
		}
		last := got[strings.LastIndexByte(strings.TrimSuffix(got, "\n"), '\n')+1:]
		if !strings.HasPrefix(last, "# The first 256 of ") || len(got) > maxText+len(last)+1 || len(got) < maxText-4 {
			t.Errorf("%d bytes, last line %q", len(got), last)
		}
		if !utf8.ValidString(got) {
			t.Error("the text ends within a rune")
		}
	}
}
