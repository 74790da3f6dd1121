// Package command_test runs the built program as a user does. It links no
// Kubernetes server.
package command_test

import (
	"os"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }
