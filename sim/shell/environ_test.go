package shell

import (
	"bytes"
	"strings"
	"testing"
)

// TestNamesThatAreNoIdentifiers checks that a shell passes on all of its environment.
func TestNamesThatAreNoIdentifiers(t *testing.T) {
	var out bytes.Buffer
	_, err := Run(t.Context(), Config{Args: []string{"sh", "-c", "env"}, Env: []string{"data-1=x", "A=y"}, Stdout: &out})
	if got := "\n" + out.String(); err != nil || !strings.Contains(got, "\ndata-1=x\n") || !strings.Contains(got, "\nA=y\n") {
		t.Errorf("got %q, %v", got, err)
	}
}
