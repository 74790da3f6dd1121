package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOutputFormats walks through all verbs: what docs/commands.md says about -o is what
// each of them has, completes and refuses.
func TestOutputFormats(t *testing.T) {
	want := documentedFormats(t)
	h := enterHome(t)
	var verbs []string
	for verb, page := range h.manPages(t) {
		if !strings.Contains(page, `\fB--output\fP`) {
			continue
		}
		verbs = append(verbs, verb)
		formats := want[verb]
		if len(formats) == 0 {
			t.Errorf("docs/commands.md does not have the formats of %s", verb)
			continue
		}
		args := strings.Fields(verb)
		if got := h.complete(t, append(args, "-o", "")...); !slices.Equal(got, formats) {
			t.Errorf("%s: completes %q, want %q", verb, got, formats)
		}
		last := len(formats) - 1
		h.requireFailure(t, append(args, "-o", "xml"), 2,
			fmt.Sprintf(`--output: unknown format "xml": use %s or %s, or leave it out`, strings.Join(formats[:last], ", "), formats[last]))
		h.requireFailure(t, append(args, "--output="), 2, "") // some refuse missing arguments first
	}
	if len(verbs) != len(want) || len(verbs) < 15 {
		t.Errorf("verbs with -o: %q; docs/commands.md has %d", verbs, len(want))
	}
}

// documentedFormats returns the formats of each verb in docs/commands.md.
func documentedFormats(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| verb | `-o` |\n| --- | --- |\n")
	if !found {
		t.Fatal("docs/commands.md has no table of the output formats")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	formats := map[string][]string{}
	quoted := func(cell string) []string {
		return strings.Split(strings.Trim(strings.TrimSpace(cell), "`"), "`, `")
	}
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		for _, verb := range quoted(cells[1]) {
			formats[verb] = quoted(cells[2])
		}
	}
	return formats
}
