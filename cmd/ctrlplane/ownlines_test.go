package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestOwnLinesBeginOnANewLine(t *testing.T) {
	var out strings.Builder
	command, own := commandStderr{&out}, ownLines{&out}
	fmt.Fprint(own, "begin\n")
	fmt.Fprint(command, "no line feed")
	fmt.Fprint(own, "::error::")
	fmt.Fprint(own, "more\n")
	fmt.Fprint(command, "a line\n")
	fmt.Fprint(own, "end\n")
	if got, want := out.String(), "begin\nno line feed\n::error::more\na line\nend\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPrefixedVerdictFollowsTheOutput: the verdict of a run is on stderr, its last line on stdout may not have ended.
func TestPrefixedVerdictFollowsTheOutput(t *testing.T) {
	var out strings.Builder
	stdout, stderr := newLinePrefixer(&out, "1.37"), newLinePrefixer(&out, "1.37")
	stderr.before = stdout
	fmt.Fprint(stdout, "x: ")
	fmt.Fprint(stderr, "other\n")
	fmt.Fprint(stdout, "bad thing")
	fmt.Fprint(stderr, "ctrlplane: failed\n")
	if got, want := out.String(), "[1.37] other\n[1.37] x: bad thing\n[1.37] ctrlplane: failed\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
