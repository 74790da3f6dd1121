package recording

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// The sink reads keys and failures of syncs from log lines whose texts are
// upstream's. testdata/logtexts.txt lists, from upstream's source, all lines that
// it reads: those about a sync, those about a failure, and those with the
// attribute "key". If it differs, make sure that isAboutSync, isAboutFailure and
// parseAttrs still find keys and errors in the changed lines before running -update.
func TestLogTextsOfUpstream(t *testing.T) {
	testutil.Golden(t, "testdata/logtexts.txt", []byte(strings.Join(upstreamLogTexts(t), "\n")+"\n"))
}

// parseUpstreamLogTexts returns the names of the attributes of each of these lines, by
// FILE "TEXT".
func parseUpstreamLogTexts(t *testing.T) map[string][]string {
	t.Helper()
	attrs := map[string][]string{}
	for _, text := range upstreamLogTexts(t) {
		end := strings.LastIndexByte(text, '"') + 1
		attrs[text[:end]] = strings.Fields(text[end:])
	}
	return attrs
}

// upstreamLogTexts returns the log lines of upstream's controllers that the sink
// reads, as FILE "TEXT" ATTRIBUTES, sorted.
func upstreamLogTexts(t *testing.T) []string {
	t.Helper()
	var lines []string
	for _, f := range upstreamFiles(t) {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if text, attrs, ok := logLine(call); ok && (isAboutSync(text) || isAboutFailure(text) || slices.Contains(attrs, "key")) {
					lines = append(lines, strings.Join(append([]string{f.name, strconv.Quote(text)}, attrs...), " "))
				}
			}
			return true
		})
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// TestDroppedKeysAreLogged finds the functions of upstream's controllers that limit the number of
// retries: those that do not log the error with the text that the sink knows drop keys unseen.
func TestDroppedKeysAreLogged(t *testing.T) {
	var found int
	var unseen []string
	for _, f := range upstreamFiles(t) {
		for _, d := range f.syntax.Decls {
			function, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			limits, logs := false, false
			ast.Inspect(function, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					method, isMethod := call.Fun.(*ast.SelectorExpr)
					limits = limits || isMethod && method.Sel.Name == "NumRequeues"
					text, attrs, _ := logLine(call)
					logs = logs || strings.Contains(text, droppedKey) && (slices.Contains(attrs, "err") || method.Sel.Name == "Error")
				}
				return true
			})
			switch {
			case limits && logs:
				found++
			case limits:
				unseen = append(unseen, f.name+" "+function.Name.Name)
			}
		}
	}
	want := []string{
		"endpoint/endpoints_controller.go handlePodErr",          // its line has no error
		"endpointslice/endpointslice_controller.go handlePodErr", // likewise
		"serviceaccount/tokens_controller.go retryOrForget",      // "retried several times", without the error
	}
	if diff := cmp.Diff(want, unseen); diff != "" || found != 6 {
		t.Errorf("%d functions log what they drop, want 6; of the others (-want +got):\n%s", found, diff)
	}
}

// upstreamFile is a parsed file of upstream's controllers.
type upstreamFile struct {
	name   string // relative to the folder of the controllers
	syntax *ast.File
}

// upstreamFiles returns the files of upstream's controllers, in the order of their names.
func upstreamFiles(t *testing.T) []upstreamFile {
	t.Helper()
	files, err := parseControllersOnce()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// parseControllersOnce spares the tests that read upstream's source a second of CPU time each.
var parseControllersOnce = sync.OnceValues(parseControllers)

func parseControllers() (files []upstreamFile, err error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "pkg", "controller")
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files = append(files, upstreamFile{filepath.ToSlash(name), file})
		return nil
	})
	return files, err
}

// logLine returns the text and the names of the attributes if a call logs a line.
func logLine(call *ast.CallExpr) (text string, attrs []string, ok bool) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", nil, false
	}
	first, ok := map[string]int{"Info": 0, "Error": 1, "HandleErrorWithContext": 2}[method.Sel.Name]
	if !ok || len(call.Args) <= first {
		return "", nil, false
	}
	if text, ok = stringLiteral(call.Args[first]); !ok {
		return "", nil, false
	}
	for i := first + 1; i < len(call.Args); i += 2 {
		if name, ok := stringLiteral(call.Args[i]); ok {
			attrs = append(attrs, name)
		}
	}
	return text, attrs, true
}

func stringLiteral(e ast.Expr) (string, bool) {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}
