package explain

import (
	"encoding/json"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	// Imported so that the packages that are parsed are part of the build.
	_ "k8s.io/cloud-provider/names"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

const managerPath = "k8s.io/kubernetes/cmd/kube-controller-manager"

// parseConstants returns the strings that a package of constants declares, by name.
func parseConstants(t *testing.T, path string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, f := range parseDir(t, importDir(t, path)) {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, v := range spec.Values {
				if lit, ok := v.(*ast.BasicLit); ok {
					all[spec.Names[i].Name] = unquote(t, lit)
				}
			}
			return false
		})
	}
	return all
}

func importDir(t *testing.T, path string) string {
	t.Helper()
	pkg, err := build.Import(path, ".", build.FindOnly)
	if err != nil {
		t.Fatal(err)
	}
	return pkg.Dir
}

// parseDir parses the Go files of a folder, without its tests.
func parseDir(t *testing.T, dir string) (files []*ast.File) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

func unquote(t *testing.T, lit *ast.BasicLit) string {
	t.Helper()
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every controller that upstream names has a page, and so does each of ctrlplane's own.
func TestEveryControllerHasAPage(t *testing.T) {
	var names []string
	for _, path := range []string{managerPath + "/names", "k8s.io/cloud-provider/names"} {
		for _, name := range parseConstants(t, path) {
			names = append(names, name)
		}
	}
	if len(names) < 50 {
		t.Fatalf("only %d upstream names were found", len(names))
	}
	for _, name := range append(names, "kube-apiserver", "kube-scheduler", "volume-provisioner-controller", "simulated-kubelet", "shared-informers") {
		if _, ok := FindPage(name); !ok {
			t.Errorf("%s has no page", name)
		}
	}
}

// The accounts on the pages are those that upstream's constructors ask clients for.
func TestAccountsMatchUpstream(t *testing.T) {
	constant := parseConstants(t, managerPath+"/names")
	files := parseDir(t, importDir(t, managerPath+"/app"))
	asked := clientAccounts(t, files, constant)
	checked := 0
	for name, constructor := range controllerConstructors(files, constant) {
		p, ok := FindPage(name)
		if !ok || strings.Contains(strings.Join(p.As, ""), ":") { // it does not act as a service account
			continue
		}
		checked++
		got := slices.Clone(asked[constructor])
		for i := range got {
			if got[i] == "controllerName" {
				got[i] = name
			}
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, p.As) {
			t.Errorf("%s acts as %v, its page says %v", name, got, p.As)
		}
	}
	if checked < 40 {
		t.Errorf("only %d were checked", checked)
	}
}

// controllerConstructors maps controllers to the constructor functions in their
// descriptors.
func controllerConstructors(files []*ast.File, constant map[string]string) map[string]string {
	all := map[string]string{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			field := map[string]string{}
			for _, e := range lit.Elts {
				kv, ok := e.(*ast.KeyValueExpr)
				if !ok {
					return true
				}
				if k, ok := kv.Key.(*ast.Ident); ok {
					field[k.Name] = lastIdent(kv.Value)
				}
			}
			if field["constructor"] != "" {
				all[constant[field["name"]]] = field["constructor"]
			}
			return true
		})
	}
	return all
}

// clientAccounts maps each function to the accounts that it requests clients for.
func clientAccounts(t *testing.T, files []*ast.File, constant map[string]string) map[string][]string {
	all := map[string][]string{}
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) != 1 || !slices.Contains([]string{"NewClient", "NewClientConfig", "ClientOrDie", "DiscoveryClient"}, lastIdent(call.Fun)) {
					return true
				}
				who := lastIdent(call.Args[0])
				if c, ok := constant[who]; ok {
					who = c
				}
				if lit, ok := call.Args[0].(*ast.BasicLit); ok {
					who = unquote(t, lit)
				}
				all[fn.Name.Name] = append(all[fn.Name.Name], who)
				return true
			})
		}
	}
	return all
}

// lastIdent is the last name in an expression such as names.JobController.
func lastIdent(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// Every source file exists in the linked version.
func TestSourceFilesExist(t *testing.T) {
	needed := map[string]bool{}
	for _, p := range Pages() {
		for _, path := range p.Source {
			needed[parseSource(path, nil).Module] = true
		}
	}
	dirs := map[string]string{}
	for _, m := range listModules(t, needed) {
		dirs[m.Path] = m.Dir
	}
	for _, p := range Pages() {
		for _, path := range p.Source {
			s := parseSource(path, nil)
			if _, err := os.Stat(filepath.Join(dirs[s.Module], filepath.FromSlash(s.Path))); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
	}
}

type module struct{ Path, Dir, Version string }

func listModules(t *testing.T, paths map[string]bool) (all []module) {
	t.Helper()
	testutil.ReadFile(t, "../../go.mod") // which go list reads: a cached result counts only while it is the same
	args := []string{"list", "-m", "-json=Path,Dir,Version"}
	for path := range paths {
		args = append(args, path)
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var m module
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}
