package explain

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	// Named here so that the packages that are parsed belong to the build.
	_ "k8s.io/cloud-provider/names"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager/names"
)

// upstream returns the names that a package of constants declares.
func upstream(t *testing.T, path string) []string {
	t.Helper()
	pkg, err := build.Import(path, ".", 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range pkg.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(pkg.Dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				for _, v := range spec.(*ast.ValueSpec).Values {
					name, err := strconv.Unquote(v.(*ast.BasicLit).Value)
					if err != nil {
						t.Fatal(err)
					}
					names = append(names, name)
				}
			}
		}
	}
	return names
}

func TestPurpose(t *testing.T) {
	names := append(upstream(t, "k8s.io/kubernetes/cmd/kube-controller-manager/names"), upstream(t, "k8s.io/cloud-provider/names")...)
	if len(names) < 50 {
		t.Fatalf("only %d upstream names were found", len(names))
	}
	said := map[string]string{}
	for _, name := range append(names, "kube-apiserver", "kube-scheduler") {
		text := Purpose(name)
		if text == "" {
			t.Errorf("%s has no purpose", name)
			continue
		}
		if n := strings.Count(text+" ", ". "); n != 2 || strings.Count(text, ". ") != 1 {
			t.Errorf("%s has %d sentences, want 2: %s", name, n, text)
		}
		if n := utf8.RuneCountInString(text); n > 220 {
			t.Errorf("%s has %d characters, want at most 220: %s", name, n, text)
		}
		if other, ok := said[text]; ok {
			t.Errorf("%s and %s have the same purpose", name, other)
		}
		said[text] = name
	}
	if got := Purpose("no-such-controller"); got != "" {
		t.Errorf("%q of an unknown name", got)
	}
}
