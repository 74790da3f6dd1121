package archtest

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// repositoryFiles returns the files and folders of the repository, relative to it and with
// slashes, without what is built.
func repositoryFiles(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "bin", "dist"}, rel) {
			return filepath.SkipDir
		}
		all = append(all, filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestMapNamesExistingFiles: each file and folder exists that is named on the pages by which
// contributors find their way. A name without a folder is that of a file anywhere.
func TestMapNamesExistingFiles(t *testing.T) {
	all := repositoryFiles(t)
	inBackticks := regexp.MustCompile("`([\\w.*/-]+)`")
	isFile := regexp.MustCompile(`\.(go|js|sh|md)$`)
	found := 0
	for _, page := range []string{"CONTRIBUTING.md", "docs/architecture.md"} {
		text := testutil.ReadFile(t, filepath.Join(root, page))
		for _, m := range inBackticks.FindAllStringSubmatch(text, -1) {
			name := strings.TrimSuffix(m[1], "/")
			first, _, below := strings.Cut(name, "/")
			if !isFile.MatchString(name) && !(below && slices.Contains(all, first)) {
				continue
			}
			found++
			if !slices.ContainsFunc(all, func(file string) bool {
				if !below {
					file = path.Base(file)
				}
				ok, err := path.Match(name, file)
				return ok && err == nil
			}) {
				t.Errorf("%s names %s, which does not exist", page, m[1])
			}
		}
	}
	if found < 80 {
		t.Errorf("only %d names found: does the search still work?", found)
	}
}

// identifiers returns the names in the code of a file.
func identifiers(t *testing.T, name string) (names []string) {
	t.Helper()
	if path.Ext(name) == ".js" {
		return regexp.MustCompile(`\w+`).FindAllString(testutil.ReadFile(t, name), -1)
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names = append(names, id.Name)
		}
		return true
	})
	return names
}

// TestMapNamesExistingIdentifiers: the code has what is named on the pages by which contributors find their way, in the
// file that they say. A name in lower case alone may be a command, and one in upper case a variable of the environment.
func TestMapNamesExistingIdentifiers(t *testing.T) {
	used := map[string][]string{} // the files with a name
	for _, file := range repositoryFiles(t) {
		if ext := path.Ext(file); ext == ".js" || ext == ".go" {
			for _, name := range identifiers(t, filepath.Join(root, filepath.FromSlash(file))) {
				used[name] = append(used[name], file)
			}
		}
	}
	inBackticks := regexp.MustCompile("`([A-Za-z]\\w*(?:\\.[A-Za-z]\\w*)*)`(?:\\s(?:in|of)\\s`([\\w/]+\\.(?:go|js))`)?")
	isFile := regexp.MustCompile(`\.(go|js|sh|md|ya?ml)$`)
	found := 0
	for _, page := range []string{"CONTRIBUTING.md", "docs/architecture.md"} {
		for _, m := range inBackticks.FindAllStringSubmatch(testutil.ReadFile(t, filepath.Join(root, page)), -1) {
			name, in := m[1], m[2]
			if isFile.MatchString(name) || in == "" && (name == strings.ToLower(name) || name == strings.ToUpper(name)) {
				continue
			}
			found++
			isIn := func(file string) bool { return in == "" || strings.HasSuffix("/"+file, "/"+in) }
			for _, part := range strings.Split(name, ".") {
				if !slices.ContainsFunc(used[part], isIn) {
					t.Errorf("%s names %s, but %s has no %s", page, name, cmp.Or(in, "the code"), part)
				}
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d names found: does the search still work?", found)
	}
}

// TestPackageMapsAreTrue compares the files that package comments name with those of the package. A list "The files" has them all.
func TestPackageMapsAreTrue(t *testing.T) {
	inComment := regexp.MustCompile(`[\w*]+\.go\b`)
	all := repositoryFiles(t)
	lists := 0
	for _, file := range all {
		folder, name := path.Split(file)
		if name != "doc.go" {
			continue
		}
		text := testutil.ReadFile(t, filepath.Join(root, filepath.FromSlash(file)))
		_, list, hasList := strings.Cut(text, "\n// The files")
		named, listed := inComment.FindAllString(text, -1), inComment.FindAllString(list, -1)
		var files []string
		for _, other := range all {
			if f, base := path.Split(other); f == folder && path.Ext(base) == ".go" && !strings.HasSuffix(base, "_test.go") && base != "doc.go" {
				files = append(files, base)
			}
		}
		isListedAs := func(file string) func(string) bool {
			return func(pattern string) bool { ok, _ := path.Match(pattern, file); return ok }
		}
		for _, pattern := range named {
			if !slices.ContainsFunc(files, func(f string) bool { return isListedAs(f)(pattern) }) {
				t.Errorf("%s names %s, which does not exist", file, pattern)
			}
		}
		for _, f := range files {
			if hasList && !slices.ContainsFunc(listed, isListedAs(f)) {
				t.Errorf("%s does not list %s", file, f)
			}
		}
		if hasList {
			lists++
		}
	}
	if lists < 9 {
		t.Errorf("only %d lists found: does the search still work?", lists)
	}
}

// TestDependabotKnowsEveryModule: a module that is left out of .github/dependabot.yml gets no
// updates.
func TestDependabotKnowsEveryModule(t *testing.T) {
	config := testutil.ReadFile(t, filepath.Join(root, ".github", "dependabot.yml"))
	_, list, _ := strings.Cut(config, "directories: [")
	list, _, _ = strings.Cut(list, "]")
	known := strings.Split(list, ", ")
	for _, file := range repositoryFiles(t) {
		folder, name := path.Split(file)
		folder = "/" + strings.TrimSuffix(folder, "/")
		if name == "go.mod" && !slices.Contains(known, folder) && !strings.Contains(config, "directory: "+folder+"\n") {
			t.Errorf("%s is not among %v, and has no entry of its own", file, known)
		}
	}
}

// TestInstrumentRequiresOldVersions: the module for operators must not raise their controller-runtime.
// "make test" runs its tests with the version in its go.mod and with that of the example operator.
func TestInstrumentRequiresOldVersions(t *testing.T) {
	version := regexp.MustCompile(`sigs\.k8s\.io/controller-runtime (v0\.\d+)\.`)
	versions := map[string]bool{}
	page := testutil.ReadFile(t, filepath.Join(root, "docs", "operators.md"))
	for _, folder := range []string{"instrument", "examples/operator"} {
		found := version.FindStringSubmatch(testutil.ReadFile(t, filepath.Join(root, folder, "go.mod")))
		if found == nil {
			t.Fatalf("%s/go.mod does not require controller-runtime", folder)
		}
		versions[found[1]] = true
		if !strings.Contains(page, found[1]) {
			t.Errorf("docs/operators.md does not name %s, which %s/go.mod requires", found[1], folder)
		}
	}
	if len(versions) != 2 {
		t.Errorf("both modules require %v", versions)
	}
}
