package main

import "testing"

func TestMatchIsTrimmed(t *testing.T) {
	d := devCommand{up: &upCommand{ui: "unknown"}, match: []string{"*.rb", " *.py"}}
	if _, err := d.validate(t.Context()); err == nil {
		t.Error("accepted an unknown view")
	}
	if !d.isSource("operator.py") {
		t.Errorf("patterns are %q", d.match)
	}
}

// A program says why it fails or crashes, and does not know why another process ends it.
func TestDescribeEnd(t *testing.T) {
	for code, want := range map[int]string{
		1:   "the operator exited with code 1: working",
		134: "the operator was ended by signal 6: working",
		137: "the operator was ended by signal 9",
		143: "the operator was ended by signal 15",
	} {
		if got := describeEnd(code, []string{"starting", "working"}); got != want {
			t.Errorf("%d: %q, want %q", code, got, want)
		}
	}
}

func TestDescribeExit(t *testing.T) {
	for code, want := range map[int]string{
		0:          "the operator exited with code 0",
		128:        "the operator exited with code 128",
		137:        "the operator was ended by signal 9",
		255:        "the operator exited with code 255",
		0xC0000005: "the operator exited with code 3221225477", // an access violation on Windows
	} {
		if got := describeExit(code); got != want {
			t.Errorf("%d: %q, want %q", code, got, want)
		}
	}
}
