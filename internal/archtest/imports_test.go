package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ctrlplane/ctrlplane"

// listedPackage is what "go list -json" prints of a package.
type listedPackage struct {
	ImportPath string
	Imports    []string // of the package itself, not of its tests
	Deps       []string // of the package itself, direct and indirect
}

// isOurs reports whether an import path is a package of this module.
func isOurs(importPath string) bool {
	return importPath == module || strings.HasPrefix(importPath, module+"/")
}

// trim returns an import path relative to the module; "." is the root package.
func trim(importPath string) string {
	if importPath == module {
		return "."
	}
	return strings.TrimPrefix(importPath, module+"/")
}

// isStandard reports whether an import path is one of the standard library: its
// first element has no dot.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// matchesAny reports whether one of the patterns matches a package: "a" matches
// the package a alone, "a/..." matches a and every package below it, "..." matches all.
func matchesAny(name string, patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		tree, ok := strings.CutSuffix(pattern, "/...")
		return pattern == "..." || name == tree || ok && strings.HasPrefix(name, tree+"/")
	})
}

// goList returns what "go list" prints in the folder of the module.
func goList(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, &stderr)
	}
	return out
}

// listPackages runs "go list" for the packages of the module and returns them by
// their path relative to it.
func listPackages(t *testing.T) map[string]listedPackage {
	t.Helper()
	out := goList(t, "-json=ImportPath,Imports,Deps", "./...")
	all := map[string]listedPackage{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all[trim(p.ImportPath)] = p
	}
	if len(all) < 30 {
		t.Fatalf("go list found only %d packages", len(all))
	}
	return all
}

// importRule restricts what some packages may import. The rules are about the
// packages themselves: their tests may import what they need.
type importRule struct {
	name   string
	of     []string // patterns of the packages that the rule is about
	except []string // patterns of packages among them that it is not about
	// ours are patterns of the only packages of this module that they may import;
	// nil = all.
	ours []string
	// allowed reports whether they may import a package; nil = all.
	allowed func(importPath string) bool
	// linkable reports whether they may depend on a package, directly or through
	// others; nil = all.
	linkable func(importPath string) bool
}

// noneOf returns a function that reports whether no pattern matches.
func noneOf(patterns ...string) func(string) bool {
	return func(importPath string) bool { return !matchesAny(importPath, patterns...) }
}

const clientGo = "k8s.io/client-go/..."

// serverCode matches what the API server and the controllers are made of.
var serverCode = []string{
	"k8s.io/kubernetes/...", "k8s.io/apiserver/...", "k8s.io/kube-aggregator/pkg/apiserver/...", "k8s.io/controller-manager/...",
	"k8s.io/cloud-provider/...", "go.etcd.io/etcd/server/v3/...",
}

// importRules are the rows of the table "Who may import whom" in docs/architecture.md.
func importRules() []importRule {
	rules := []importRule{
		{
			name: "observe imports the standard library and internal packages only",
			of:   []string{"observe"}, ours: []string{"internal/..."},
			allowed: func(p string) bool { return isStandard(p) || isOurs(p) },
		},
		{
			name: "observe/trace imports observe and internal packages only",
			of:   []string{"observe/trace/..."}, ours: []string{"observe", "observe/trace/...", "internal/..."},
		},
		{
			name: "observe/replay imports observe and internal packages only",
			of:   []string{"observe/replay/..."}, ours: []string{"observe", "internal/..."},
		},
		{
			name: "only observe/scrape and observe/inspect reach Kubernetes clients",
			of:   []string{"observe/..."}, except: []string{"observe/scrape/...", "observe/inspect/..."}, linkable: noneOf(clientGo),
		},
		{
			name: "controllers/queues imports observe and workqueue only: the order of initialization depends on it",
			of:   []string{"controllers/queues"}, ours: []string{"observe"},
			allowed: func(p string) bool {
				return p == "k8s.io/client-go/util/workqueue" || !matchesAny(p, "k8s.io/...", "sigs.k8s.io/...")
			},
		},
		{
			name: "etcd imports internal packages only and links nothing of Kubernetes",
			of:   []string{"etcd/..."}, ours: []string{"etcd/...", "internal/..."},
			linkable: func(p string) bool { // etcd itself uses a B-tree that lives in k8s.io/utils
				return !matchesAny(p, "k8s.io/...") || matchesAny(p, "k8s.io/utils/third_party/...")
			},
		},
		{
			name: "control imports observe only",
			of:   []string{"control"}, ours: []string{"observe"}, linkable: noneOf(clientGo),
		},
		{
			name: "control/rest imports control, observe, causes and what settled means",
			of:   []string{"control/rest"}, ours: []string{"control", "observe", "observe/trace", "health/settled", "internal/..."},
		},
		{
			name: "clients imports observe, control and what records and intervenes",
			of:   []string{"clients"}, ours: []string{"observe", "control", "controllers/intervene", "controllers/recording", "internal/..."},
		},
		{
			name: "faces link no server code",
			of:   []string{"ui/...", "control/...", "ctrlplanetest/..."}, except: []string{"ctrlplanetest/inprocess/..."}, linkable: noneOf(serverCode...),
		},
		{
			name: "sim/shell reaches nothing of the host: it imports neither os nor net and links nothing that starts processes",
			of:   []string{"sim/shell"}, ours: []string{},
			allowed: noneOf("os/...", "net/...", "path/filepath", "io/ioutil", "plugin"),
			linkable: noneOf("os/exec", "os/signal", "net/...", "mvdan.cc/sh/v3/interp", "mvdan.cc/sh/v3/expand",
				"k8s.io/...", "sigs.k8s.io/...", "golang.org/x/sys/..."),
		},
		{
			name: "only apiserver, controllers and sim import k8s.io/kubernetes",
			of:   []string{"..."}, except: []string{"apiserver/...", "controllers/...", "sim/..."}, allowed: noneOf("k8s.io/kubernetes/..."),
		},
		{
			name: "only cmd imports cobra",
			of:   []string{"..."}, except: []string{"cmd/..."}, allowed: noneOf("github.com/spf13/cobra/..."),
		},
		{
			name: "only ui imports terminal libraries",
			of:   []string{"..."}, except: []string{"ui/..."}, allowed: noneOf("charm.land/...", "github.com/charmbracelet/..."),
		},
		{
			name: "only ctrlplanetest and internal/testutil import testing",
			of:   []string{"..."}, except: []string{"ctrlplanetest/...", "internal/testutil/..."}, allowed: noneOf("testing/..."),
		},
	}
	// Only the root package knows all of these.
	parts := []string{"apiserver", "controllers", "sim", "ui"}
	for _, part := range parts {
		var others []string
		for _, other := range parts {
			if other != part {
				others = append(others, module+"/"+other+"/...")
			}
		}
		rules = append(rules, importRule{name: part + " imports no other part", of: []string{part + "/..."}, allowed: noneOf(others...)})
	}
	return rules
}

// violations returns the imports of a package that break a rule.
func (r importRule) violations(p listedPackage) (found []string) {
	for _, imported := range p.Imports {
		if isOurs(imported) && r.ours != nil && !matchesAny(trim(imported), r.ours...) || r.allowed != nil && !r.allowed(imported) {
			found = append(found, imported)
		}
	}
	for _, linked := range p.Deps {
		if r.linkable != nil && !r.linkable(linked) {
			found = append(found, linked+" (linked)")
		}
	}
	return found
}

func TestImports(t *testing.T) {
	packages := listPackages(t)
	for _, rule := range importRules() {
		t.Run(rule.name, func(t *testing.T) {
			matched := false
			for name, p := range packages {
				if !matchesAny(name, rule.of...) || matchesAny(name, rule.except...) {
					continue
				}
				matched = true
				if found := rule.violations(p); len(found) > 0 {
					t.Errorf("%s: %s", name, strings.Join(found, ", "))
				}
			}
			if !matched {
				t.Errorf("no package matches %v", rule.of)
			}
		})
	}
}

func TestViolations(t *testing.T) {
	p := listedPackage{
		Imports: []string{"fmt", module + "/observe", module + "/etcd", "k8s.io/api/core/v1"},
		Deps:    []string{"fmt", module + "/observe", module + "/etcd", "k8s.io/api/core/v1", "k8s.io/client-go/rest"},
	}
	for _, tt := range []struct {
		rule importRule
		want []string
	}{
		{importRule{}, nil},
		{importRule{ours: []string{}}, []string{module + "/observe", module + "/etcd"}},
		{importRule{ours: []string{"observe/..."}}, []string{module + "/etcd"}},
		{importRule{allowed: isStandard, ours: []string{"..."}}, []string{module + "/observe", module + "/etcd", "k8s.io/api/core/v1"}},
		{importRule{allowed: noneOf("k8s.io/...")}, []string{"k8s.io/api/core/v1"}},
		{importRule{linkable: noneOf(clientGo)}, []string{"k8s.io/client-go/rest (linked)"}},
		{importRule{linkable: noneOf("k8s.io/client-go", "k8s.io/ap/...")}, nil},
	} {
		if got := tt.rule.violations(p); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: got %q, want %q", tt.rule, got, tt.want)
		}
	}
}
