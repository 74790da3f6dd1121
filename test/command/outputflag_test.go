package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// testOutputFlag checks that -o means the same for every verb that lists something. It follows
// testCompletion, which has saved a snapshot, paused a controller and run kubectl.
func (u user) testOutputFlag(t *testing.T) {
	ask := func(args ...string) string {
		t.Helper()
		stdout, _ := u.mustRun(t, append([]string{"--name", "demo"}, args...)...)
		return stdout
	}
	for verb, name := range map[string]string{
		"nodes": "node-1", "nodes list": "node-1", "controllers": "job-controller", "controllers list": "job-controller", "clients list": "kubectl (kubernetes-admin)", "controllers held job": "",
		"list": "demo", "learn": "deployment", "snapshot list": "base", "explain": "job-controller", "explain job": "job-controller",
	} {
		in := func(format string) string { return ask(append(strings.Fields(verb), "-o", format)...) }
		var asJSON, asYAML struct{ Items []any }
		if err := json.Unmarshal([]byte(in("json")), &asJSON); err != nil || asJSON.Items == nil {
			t.Errorf("%s -o json: %v, %v", verb, asJSON, err)
		}
		if err := yaml.Unmarshal([]byte(in("yaml")), &asYAML); err != nil || len(asYAML.Items) != len(asJSON.Items) {
			t.Errorf("%s -o yaml: %v, %v", verb, asYAML, err)
		}
		names := strings.Split(strings.TrimSuffix(in("name"), "\n"), "\n")
		if names[0] != name && len(asJSON.Items) == 1 || len(asJSON.Items) != len(names) && name != "" || !strings.Contains(strings.Join(names, " "), name) {
			t.Errorf("%s -o name: %q", verb, names)
		}
		if wide := in("wide"); wide == "" {
			t.Errorf("%s -o wide: nothing", verb)
		}
	}
}

// TestOutputFormats walks through all verbs: what docs/commands.md says about -o is what
// each of them has, completes and refuses.
func TestOutputFormats(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	want := documentedFormats(t)
	var verbs []string
	for _, verb := range u.verbsWithOutput(t) {
		verbs = append(verbs, verb)
		formats := want[verb]
		if len(formats) == 0 {
			t.Errorf("docs/commands.md does not have the formats of %s", verb)
			continue
		}
		args := strings.Fields(verb)
		if got := u.complete(t, append(args, "-o", "")...); !slices.Equal(got, formats) {
			t.Errorf("%s: completes %q, want %q", verb, got, formats)
		}
		last := len(formats) - 1
		program.RequireFailure(t, u.command(t, append(args, "-o", "xml")...), 2,
			fmt.Sprintf(`--output: unknown format "xml": use %s or %s, or leave it out`, strings.Join(formats[:last], ", "), formats[last]))
		program.RequireFailure(t, u.command(t, append(args, "--output=")...), 2, "") // some refuse missing arguments first
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

// verbsWithOutput returns the verbs whose man page has --output.
func (u user) verbsWithOutput(t *testing.T) (verbs []string) {
	t.Helper()
	for verb, page := range u.manPages(t) {
		if strings.Contains(page, `\fB--output\fP`) {
			verbs = append(verbs, verb)
		}
	}
	return verbs
}

// manPages returns the man pages of all verbs.
func (u user) manPages(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	u.mustRun(t, "man", dir)
	pages, err := filepath.Glob(filepath.Join(dir, "ctrlplane-*.1"))
	if err != nil || len(pages) < 40 {
		t.Fatalf("%d man pages, %v", len(pages), err)
	}
	byVerb := map[string]string{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		verb := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(page), "ctrlplane-"), ".1")
		byVerb[strings.ReplaceAll(verb, "-", " ")] = string(text)
	}
	return byVerb
}
