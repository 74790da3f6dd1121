package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// TestInstrumentDependsOnNothingOfOurs: an operator that uses the module must not depend
// on the Kubernetes server, and the program must not depend on controller-runtime.
func TestInstrumentDependsOnNothingOfOurs(t *testing.T) {
	for file, forbidden := range map[string][]string{
		"instrument/go.mod": {module + " v", "replace ", "k8s.io/kubernetes "},
		"go.mod":            {"sigs.k8s.io/controller-runtime ", module + "/instrument", "replace "},
	} {
		data := testutil.ReadFile(t, filepath.Join(root, file))
		for _, text := range forbidden {
			if strings.Contains(data, text) {
				t.Errorf("%s has %q", file, text)
			}
		}
	}
}

// TestWireFormat compares the two sides of the reports of operators, and docs/operators.md.
// They share no code.
func TestWireFormat(t *testing.T) {
	sent, taken := jsonFields(t, "instrument/report.go"), jsonFields(t, "clients/report.go")
	if !maps.Equal(sent, taken) {
		t.Errorf("the module sends %v, the control plane takes %v", sent, taken)
	}
	page := testutil.ReadFile(t, filepath.Join(root, "docs", "operators.md"))
	for _, field := range slices.Sorted(maps.Keys(sent)) {
		if !strings.Contains(page, `"`+field+`"`) && !strings.Contains(page, "`"+field+"`") {
			t.Errorf("docs/operators.md does not describe %q", field)
		}
	}
	if len(sent) < 30 {
		t.Errorf("only %d fields found: does the search still work?", len(sent))
	}
}

// jsonFields returns how often each name of a field in JSON occurs in the types of a file,
// with its options.
func jsonFields(t *testing.T, name string) map[string]int {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(name)), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok && f.Tag != nil {
			tag, err := strconv.Unquote(f.Tag.Value)
			if err != nil {
				t.Fatal(err)
			}
			field, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			count[field]++
		}
		return true
	})
	return count
}
