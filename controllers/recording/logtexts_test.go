package recording

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

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
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "pkg", "controller")
	var lines []string
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
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if text, attrs, ok := logLine(call); ok && (isAboutSync(text) || isAboutFailure(text) || slices.Contains(attrs, "key")) {
					lines = append(lines, strings.Join(append([]string{filepath.ToSlash(name), strconv.Quote(text)}, attrs...), " "))
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
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
