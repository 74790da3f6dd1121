package devloop

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestSources(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"run.sh", "bin/operator", "cmd/main.go", "other/main.go", "other/more.go", "go", "operator.py", "operator.mts", "python3", "data", "target/operator.jar"} {
		testutil.WriteFile(t, name, "")
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string][]string{
		"./run.sh --fast":                        {"./run.sh"},
		here + "/bin/operator":                   {here + "/bin/operator"},
		"bin/operator":                           {"bin/operator"},
		"run.sh":                                 nil, // of PATH
		"make run":                               nil,
		"sh run.sh x":                            {"run.sh"},
		"/bin/bash -e run.sh":                    {"run.sh"},
		"sh -c true":                             nil,
		"python3 operator.py run.sh":             {"operator.py"},
		here + "/python3 -u operator.py":         {"operator.py"},
		"python3.13.exe operator.py":             {"operator.py"},
		"Python.EXE operator.py":                 {"operator.py"},
		"python3.13t operator.py":                {"operator.py"},
		"pythonw operator.py":                    {"operator.py"},
		"py -3 operator.py":                      {"operator.py"},
		"npx.cmd tsx operator.mts":               {"operator.mts"},
		"/usr/bin/env python3 operator.py":       {"operator.py"},
		"env -i A=operator.py sh run.sh":         {"run.sh"},
		"env -u HTTP_PROXY python3 operator.py":  {"operator.py"},
		"env -u":                                 nil,
		"env -C other python3 operator.py":       nil, // it is in that folder
		"env":                                    nil,
		"env go run ./cmd":                       {"cmd"},
		here + "/python3 -m operator":            nil,
		"python3 -m operator data":               nil, // it may write that
		"uv run operator.py":                     {"operator.py"},
		"ctrlplane reconcile sites -- sh run.sh": {"run.sh"},
		"ctrlplane --name a reconcile sites --":  nil,
		"java -jar target/operator.jar":          {"target/operator.jar"},
		"kopf run operator.py":                   nil, // of any other program, it may be what that writes
		"go run .":                               {"."},
		"go run ./cmd -x run.sh":                 {"cmd"},
		"go run -C other . --a":                  {"other"},
		"go run -C=other .":                      {"other"},
		"go run -C other main.go more.go run.sh": {"other/main.go", "other/more.go"},
		"go run other/main.go other/more.go":     {"other/main.go", "other/more.go"},
		"go run example.com/x@latest":            nil,
		"go run":                                 nil,
		"go run -C":                              nil,
		"./missing":                              nil,
		"./bin":                                  nil,
	} {
		got := Sources(strings.Fields(command))
		if filepath.ToSlash(strings.Join(got, " ")) != filepath.ToSlash(strings.Join(want, " ")) {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	script := []string{"env", "-S", "A=b python3 -u", "operator.py"}
	if got := Sources(script); !slices.Equal(got, []string{"operator.py"}) {
		t.Errorf("%q: %q", script, got)
	}
}
