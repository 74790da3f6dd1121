package ctrlplanetest_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/ctrlplane/ctrlplane/ctrlplanetest"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) != "" {
		os.Exit(playRole(os.Getenv(roleEnv)))
	}
	// The tests of a hundred namespaces wait for controllers.
	if err := testutil.SetParallel(16); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
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

// ensureProgram builds the program unless $CTRLPLANE names one.
func ensureProgram() (remove func(), err error) {
	if os.Getenv("CTRLPLANE") != "" {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp("", "ctrlplanetest-")
	if err != nil {
		return nil, err
	}
	path, err := program.Build(dir)
	if err != nil {
		return nil, err
	}
	return func() { os.RemoveAll(dir) }, os.Setenv("CTRLPLANE", path)
}
