package ctrlplanetest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ctrlplane/ctrlplane/ctrlplanetest"
)

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) != "" {
		os.Exit(playRole(os.Getenv(roleEnv)))
	}
	remove, err := ensureProgram()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := ctrlplanetest.Run(m, ctrlplanetest.Options{Manifests: []string{"testdata/widgets.yaml"}})
	remove()
	os.Exit(code)
}

// ensureProgram builds the program, unless the environment names one.
func ensureProgram() (remove func(), err error) {
	if os.Getenv("CTRLPLANE") != "" {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp("", "ctrlplanetest-")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "ctrlplane")
	build := exec.Command("go", "build", "-o", path, "github.com/ctrlplane/ctrlplane/cmd/ctrlplane")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	return func() { os.RemoveAll(dir) }, os.Setenv("CTRLPLANE", path)
}
