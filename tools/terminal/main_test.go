// Package terminal_test uses the built program in a pseudo terminal, as a user does
// who sits in front of one.
package terminal_test

import (
	"os"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }
