//go:build unix

package docs_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/snippets"
)

// goSnippet is the file around a snippet in Go.
type goSnippet struct {
	module  string // folder of the module that compiles it
	imports []string
	// before and after are around the snippet, in which elision stands for "…".
	before, elision, after string
}

// goSnippets are the snippets in Go, by page and the first line.
var goSnippets = map[string]goSnippet{
	"library.md: srv := &ctrlplane.Server{ // ephemeral, on a free loopback port": {
		imports: []string{`"context"`, `"k8s.io/client-go/kubernetes"`, `"github.com/ctrlplane/ctrlplane"`},
		before:  "func snippet(ctx context.Context) error {", after: "_ = client\nreturn err\n}",
	},
	`library.md: cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG")) // as ctrlplane run sets it`: {
		imports: []string{`"context"`, `"os"`, `"k8s.io/client-go/tools/clientcmd"`, `"github.com/ctrlplane/ctrlplane/control/rest"`},
		before:  "func snippet(ctx context.Context) error {", after: "return err\n}",
	},
	"operators.md: mgr, err := ctrl.NewManager(cfg, options)": {
		module:  "examples/operator",
		imports: []string{`ctrl "sigs.k8s.io/controller-runtime"`, `"k8s.io/client-go/rest"`, `"github.com/ctrlplane/ctrlplane/instrument"`},
		before:  "func snippet(cfg *rest.Config, options ctrl.Options) error {", after: "_ = mgr\nreturn nil\n}",
	},
	"testing.md: func TestMain(m *testing.M) {": {
		imports: []string{`"testing"`, `metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"`, `"github.com/ctrlplane/ctrlplane/ctrlplanetest"`},
		elision: "_, _ = pods, err",
	},
	"testing.md: cfg := cp.RESTConfig()": {
		module: "examples/operator",
		imports: []string{
			`"context"`, `"testing"`, `ctrl "sigs.k8s.io/controller-runtime"`, `"github.com/ctrlplane/ctrlplane/ctrlplanetest"`, `"github.com/ctrlplane/ctrlplane/health/assert"`,
		},
		before:  "func snippet(ctx context.Context, t *testing.T, cp *ctrlplanetest.ControlPlane, options ctrl.Options) {",
		elision: "_ = err", after: "_, _ = mgr, paused\n}",
	},
	"testing.md: ctrlplanetest.Main(m, ctrlplanetest.Options{Backend: inprocess.Backend{}})": {
		imports: []string{`"testing"`, `"github.com/ctrlplane/ctrlplane/ctrlplanetest"`, `"github.com/ctrlplane/ctrlplane/ctrlplanetest/inprocess"`},
		before:  "func TestMain(m *testing.M) {", after: "}",
	},
}

func snippetKey(page string, b snippets.Block) string {
	first, _, _ := strings.Cut(b.Text, "\n")
	return page + ": " + first
}

// TestGoSnippetsCompile compiles the snippets in Go as packages of their module.
func TestGoSnippetsCompile(t *testing.T) {
	t.Parallel()
	texts := map[string][]string{} // by module
	compiled := 0
	for page, blocks := range pages(t) {
		for _, b := range blocks {
			if s, ok := goSnippets[snippetKey(page, b)]; ok {
				texts[s.module] = append(texts[s.module], s.source(b))
				compiled++
			}
		}
	}
	if compiled != len(goSnippets) {
		t.Errorf("%d snippets were compiled, goSnippets has %d", compiled, len(goSnippets))
	}
	for module, sources := range texts {
		compileSnippets(t, module, sources)
	}
}

// source returns the file around a snippet, whose first line has its place in the page.
func (s goSnippet) source(b snippets.Block) string {
	return fmt.Sprintf("package snippet // %s\n\nimport (\n%s\n)\n\n%s\n%s\n%s\n", b, strings.Join(s.imports, "\n"), s.before, strings.ReplaceAll(b.Text, "…", s.elision), s.after)
}

// compileSnippets compiles files as packages of a module, each in a folder of its own, which the
// compiler finds through an overlay.
func compileSnippets(t *testing.T, module string, sources []string) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(root, module))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	var folders []string
	for i, source := range sources {
		folder := fmt.Sprintf("snippet%d", i)
		file := testutil.WriteFile(t, filepath.Join(t.TempDir(), "snippet.go"), source)
		files[filepath.Join(dir, folder, "snippet.go")] = file
		folders = append(folders, "./"+folder)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": files})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := testutil.WriteFile(t, filepath.Join(t.TempDir(), "overlay.json"), overlay)
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"build", "-overlay", overlayFile}, folders...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s\n%s", err, out, strings.Join(sources, "\n"))
	}
}
