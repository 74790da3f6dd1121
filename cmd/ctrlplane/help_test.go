package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

func TestVersionFlag(t *testing.T) {
	h := enterHome(t)
	want := h.mustRun(t, "version")
	if got := h.mustRun(t, "--version"); got != want || !strings.HasPrefix(want, "ctrlplane ") {
		t.Errorf("--version: %q, want %q", got, want)
	}
}

// TestHelpHasOnlyOwnFlags checks that flags that Kubernetes' packages register for the whole
// process do not show in the help. TestUsageErrors of test/command checks that they are refused.
func TestHelpHasOnlyOwnFlags(t *testing.T) {
	h := enterHome(t)
	for _, verb := range []string{"", "up", "run", "status", "controllers pause", "snapshot save", "trace"} {
		help := h.mustRun(t, append(strings.Fields(verb), "--help")...)
		if strings.Contains(help, "reported version") || verb != "" && strings.Contains(help, "--version") {
			t.Errorf("%q:\n%s", verb, help)
		}
	}
}

// TestHelpFits checks that no line of any help is longer than 100 columns. That of kubectl is
// upstream's.
func TestHelpFits(t *testing.T) {
	h := enterHome(t)
	for verb := range h.manPages(t) {
		if verb == "kubectl" {
			continue
		}
		for line := range strings.Lines(h.mustRun(t, append(strings.Fields(verb), "--help")...)) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 100 {
				t.Errorf("%s --help: %d columns: %s", verb, n, line)
			}
		}
	}
}

// TestHelpHasExamples walks all verbs, also hidden ones and those of cobra.
func TestHelpHasExamples(t *testing.T) {
	eachCommand(newRootCommand(&target{}), func(cmd *cobra.Command) {
		if !strings.Contains(cmd.Example, "ctrlplane") || strings.Contains(cmd.Long, "\n  ctrlplane ") {
			t.Errorf("%s: no examples under their heading", cmd.CommandPath())
		}
	})
}

// TestHelpGroups checks that the verbs are grouped.
func TestHelpGroups(t *testing.T) {
	h := enterHome(t)
	for args, want := range map[string]string{"--help": "Start, stop and manage:", "controllers --help": "Inject faults:", "nodes --help": "Inject failures:"} {
		help := h.mustRun(t, strings.Fields(args)...)
		if !strings.Contains(help, "\n"+want+"\n") || strings.Contains(help, "Available Commands") || strings.Contains(help, "Additional Commands") {
			t.Errorf("%q: want %q:\n%s", args, want, help)
		}
	}
	h.requireFailure(t, []string{"controllers", "clear"}, 2, "missing controller name")
}

// TestManPages checks that each verb has a man page, and what hidden ones have not.
func TestManPages(t *testing.T) {
	h := enterHome(t)
	pages := h.manPages(t)
	for _, verb := range []string{"", "up", "controllers pause", "kubectl"} {
		if !strings.Contains(pages[verb], ".SH SYNOPSIS") {
			t.Errorf("%q: %s", verb, pages[verb])
		}
	}
	if page, found := pages["man"]; found {
		t.Errorf("a hidden verb has a man page: %s", page)
	}
	h.requireFailure(t, []string{"man"}, 2, "takes one folder")
}

// manPages returns the man pages of all verbs. That of the program is the empty verb's.
func (h home) manPages(t *testing.T) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "man1")
	h.mustRun(t, "man", dir)
	pages, err := filepath.Glob(filepath.Join(dir, "ctrlplane*.1"))
	if err != nil || len(pages) < 40 {
		t.Fatalf("%d man pages, %v", len(pages), err)
	}
	byVerb := map[string]string{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Split(strings.TrimSuffix(filepath.Base(page), ".1"), "-")
		byVerb[strings.Join(words[1:], " ")] = string(text)
	}
	return byVerb
}
