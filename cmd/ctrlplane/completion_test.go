package main

import (
	"slices"
	"strings"
	"testing"
)

// complete returns what a shell would suggest for the last argument.
func (h home) complete(t *testing.T, args ...string) []string {
	t.Helper()
	r := h.run(t, append([]string{"__complete"}, args...)...)
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if last := lines[len(lines)-1]; r.code != 0 || !strings.HasPrefix(last, ":") {
		t.Fatalf("%q: exit code %d, no directive: %q", args, r.code, r.stdout)
	}
	var values []string
	for _, line := range lines[:len(lines)-1] {
		value, _, _ := strings.Cut(line, "\t")
		values = append(values, value)
	}
	return values
}

// TestCompletion completes what needs no control plane. In place of an argument, "_" stands for
// an empty one.
func TestCompletion(t *testing.T) {
	h := enterHome(t)
	for args, want := range map[string][]string{
		"sna":                      {"snapshot"},
		"status _":                 nil,
		"up --ui p":                {"plain"},
		"nodes -o _":               {"wide", "json", "yaml", "name"},
		"trace x/y -o m":           {"mermaid"},
		"controllers speed 1/":     {"1/2", "1/5", "1/10"},
		"learn 10":                 {"10"},
		"explain replicas":         {"replicaset"},
		"--name nope trace _":      nil,
		"--name nope nodes fail _": nil,
	} {
		line := strings.Fields(args)
		if last := len(line) - 1; line[last] == "_" {
			line[last] = ""
		}
		if got := h.complete(t, line...); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
}

// TestCompletionScripts checks that there is a script for each shell that the help names.
func TestCompletionScripts(t *testing.T) {
	h := enterHome(t)
	help := h.mustRun(t, "completion", "--help")
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		script := h.mustRun(t, "completion", shell)
		if !strings.Contains(help, "ctrlplane completion "+shell) || !strings.Contains(script, "__complete") || !strings.Contains(script, "ctrlplane") {
			t.Errorf("%s: in the help %q, script:\n%s", shell, help, script)
		}
	}
}

// TestCompletionTable checks that a wrong path in the table of completions cannot complete the command above it.
func TestCompletionTable(t *testing.T) {
	root := newRootCommand(&target{})
	if verb := findVerb(root, "controllers pause"); verb.CommandPath() != "ctrlplane controllers pause" {
		t.Errorf("got %s", verb.CommandPath())
	}
	for _, path := range []string{"controllers paus", "nope"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q: no panic", path)
				}
			}()
			findVerb(root, path)
		}()
	}
}
