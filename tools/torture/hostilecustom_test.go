//go:build linux

package main

import (
	"path/filepath"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestCheckSummaries(t *testing.T) {
	const section = "\x1b[0Ksection_start:1:ctrlplane_run[collapsed=true]\r\x1b[0Kctrlplane run: passed\n\x1b[0Ksection_end:1:ctrlplane_run\r\x1b[0K\n"
	for _, test := range []struct {
		log, summary string
		clean        bool
	}{
		{"::error title=not healthy%3A Trial x::y\n" + section, "| Not healthy | Why |\n", true},
		{"::error title=not healthy%3A Trial x::y\n::error::z\n", "| Not healthy | Why |\n", false},
		{section + "\x1b[2J", "| Not healthy | Why |\n", false},
		{section, "healthy\n", false},
		{section, "| Not healthy | Why |\n<img src=x>", false},
		{section, "| Not healthy | Why |\n\x1b[2J", false},
	} {
		file := testutil.WriteFile(t, filepath.Join(t.TempDir(), "summary.md"), test.summary)
		if err := checkSummaries(test.log, file); (err == nil) != test.clean {
			t.Errorf("%q, %q: got %v", test.log, test.summary, err)
		}
	}
}
