package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

const (
	root      = "../.."
	hooksPage = root + "/docs/upstream-hooks.md"
)

// processWide are the functions and variables, as import path and name, that
// change the state of the whole process.
var processWide = map[string]bool{
	"runtime.Goexit":                                 true,
	"runtime.Stack":                                  true,
	"runtime/debug.SetGCPercent":                     true,
	"runtime/debug.SetMemoryLimit":                   true,
	"runtime/debug.SetCrashOutput":                   true,
	"os.Exit":                                        true,
	"os.Setenv":                                      true,
	"os.Chdir":                                       true,
	"k8s.io/klog/v2.OsExit":                          true,
	"k8s.io/klog/v2.SetLogger":                       true,
	"k8s.io/klog/v2.SetLoggerWithOptions":            true,
	"k8s.io/klog/v2.CaptureState":                    true,
	"k8s.io/client-go/rest.SetDefaultWarningHandler": true,
	"k8s.io/client-go/util/workqueue.SetProvider":    true,
	"k8s.io/component-base/configz.New":              true,
	"k8s.io/component-base/metrics/legacyregistry.RawMustRegister": true,
	"k8s.io/kubectl/pkg/util/i18n.SetLoadTranslationsFunc":         true,
	"go.etcd.io/etcd/server/v3/storage/wal.SegmentSizeBytes":       true,
}

// TestHooksAreDocumented compares the files that reach into the runtime, change
// the state of the process or rely on upstream's internals by linkname with
// those that docs/upstream-hooks.md names.
func TestHooksAreDocumented(t *testing.T) {
	page := testutil.ReadFile(t, hooksPage)
	documented := map[string]bool{}
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		first, _, _ := strings.Cut(line[2:], " |")
		for _, m := range regexp.MustCompile("`([^`]+\\.go)`").FindAllStringSubmatch(first, -1) {
			documented[m[1]] = true
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("docs/upstream-hooks.md names a file that does not exist: %v", err)
			}
		}
	}
	found := hookFiles(t)
	for file, uses := range found {
		if !documented[file] {
			t.Errorf("%s uses %s: describe it in docs/upstream-hooks.md", file, strings.Join(uses, ", "))
		}
	}
	if len(found) < 10 {
		t.Errorf("only %d files found: does the search still work?", len(found))
	}
}

// hookFiles lists the non-test files of the module that use a hook, and which.
func hookFiles(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel == "tools" || rel == "examples" || rel != "." && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		if uses := hooksIn(t, name); len(uses) > 0 {
			found[rel] = uses
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func hooksIn(t *testing.T, name string) (uses []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	add := func(use string) {
		if !slices.Contains(uses, use) {
			uses = append(uses, use)
		}
	}
	imports := map[string]string{}
	for _, spec := range file.Imports {
		imported := strings.Trim(spec.Path.Value, `"`)
		local := path.Base(imported)
		if regexp.MustCompile(`^v\d+$`).MatchString(local) {
			local = path.Base(path.Dir(imported))
		}
		if spec.Name != nil {
			local = spec.Name.Name
		}
		imports[local] = imported
		if imported == "unsafe" {
			add("unsafe")
		}
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:linkname ") {
				add("go:linkname")
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && processWide[imports[pkg.Name]+"."+sel.Sel.Name] {
				add(pkg.Name + "." + sel.Sel.Name)
			}
		}
		return true
	})
	return uses
}

// TestHooksInRecognizesEachKind guards the search itself.
func TestHooksInRecognizesEachKind(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.go")
	source := `package x

import (
	"os"
	"runtime/debug"
	_ "unsafe"

	"k8s.io/klog/v2"
)

//go:linkname now runtime.nanotime
func now() int64

func f() {
	debug.SetGCPercent(1)
	klog.OsExit = func(int) {}
	os.Exit(1)
	os.Getpid()
}
`
	testutil.WriteFile(t, name, source)
	want := []string{"unsafe", "go:linkname", "debug.SetGCPercent", "klog.OsExit", "os.Exit"}
	if diff := cmp.Diff(want, hooksIn(t, name)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
