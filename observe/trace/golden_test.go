package trace

import (
	"io"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	testutil.Golden(t, "testdata/"+name+".golden", []byte(got))
}

func deployment(name string) observe.Object {
	return observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: name}
}

func pod(name string) observe.Object {
	return observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: name}
}

func buildTree(t *testing.T, name string, about observe.Object, o Options) *Tree {
	t.Helper()
	tree, err := Build(loadJournal(t, name), about, o)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// writer is a tree or a chain.
type writer interface {
	Write(w io.Writer, f Format, s Style) error
}

func writeString(t *testing.T, v writer, f Format, s Style) string {
	t.Helper()
	var b strings.Builder
	if err := v.Write(&b, f, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTree draws each scenario as a tree.
func TestTree(t *testing.T) {
	greedy := deployment("greedy")
	greedy.Namespace = "small"
	for name, about := range map[string]observe.Object{
		"rollout":    deployment("web"),
		"scale":      deployment("web"),
		"cascade":    deployment("web"),
		"threekinds": {Group: "batch", Resource: "cronjobs", Kind: "CronJob", Namespace: "default", Name: "nightly"},
		"foreground": deployment("busy"),
		"adoption":   deployment("orphaned"),
		"namespace":  {Resource: "namespaces", Kind: "Namespace", Name: "gone"},
		"quota":      greedy,
		"conflict":   deployment("busy"),
		"node":       {Resource: "nodes", Kind: "Node", Name: "n1"},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, "tree/"+name, writeString(t, buildTree(t, name, about, Options{}), Text, Style{Width: 100}))
		})
	}
}

// TestFormats writes the same trace in each format.
func TestFormats(t *testing.T) {
	for _, f := range Formats() {
		if f == HTML { // see TestDiagram
			continue
		}
		t.Run(string(f), func(t *testing.T) {
			golden(t, "format/"+string(f), writeString(t, buildTree(t, "cascade", deployment("web"), Options{}), f, Style{}))
		})
	}
	t.Run("color", func(t *testing.T) {
		golden(t, "format/color", writeString(t, buildTree(t, "rollout", deployment("web"), Options{}), Text, Style{Color: true}))
	})
	t.Run("ascii", func(t *testing.T) {
		got := writeString(t, buildTree(t, "cascade", deployment("web"), Options{}), Text, Style{ASCII: true})
		for _, r := range got {
			if r > 126 {
				t.Fatalf("%q is not ASCII in:\n%s", r, got)
			}
		}
		golden(t, "format/ascii", got)
	})
}

func TestWhy(t *testing.T) {
	for _, c := range []struct {
		name, scenario string
		about          observe.Object
		what           What
	}{
		{"created", "rollout", pod("web-7fdb866fbd-wxbkz"), ""},
		{"changed", "rollout", deployment("web"), Changed},
		{"older", "scale", deployment("web"), ""},
		{"deleted", "cascade", pod("web-7fdb866fbd-7bk4m"), Deleted},
		{"namespace", "namespace", observe.Object{Resource: "namespaces", Kind: "Namespace", Name: "gone"}, Deleted},
		{"node", "node", observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: "homeless-58b6b6fd6f-jtng6"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			chain, err := Why(loadJournal(t, c.scenario), c.about, Options{What: c.what})
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "why/"+c.name, writeString(t, chain, Text, Style{Width: 100}))
			for _, f := range Formats()[1:] {
				if c.name == "deleted" && f != HTML {
					golden(t, "why/"+c.name+"-"+string(f), writeString(t, chain, f, Style{}))
				}
			}
		})
	}
}
