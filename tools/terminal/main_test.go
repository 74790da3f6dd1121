// Package terminal_test uses the built program in a pseudo terminal. Its tests need
// a terminal emulator, so they are not in test/command.
package terminal_test

import (
	"os"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }
