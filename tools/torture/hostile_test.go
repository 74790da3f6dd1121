//go:build linux

package main

import "testing"

func TestCheckClean(t *testing.T) {
	for text, clean := range map[string]bool{
		"a\tb\nc :: é …":       true,
		"a\x1b[2Jb":            false,
		"a\u009bb":             false,
		"a\u202eb":             false,
		"a\rb":                 false,
		"a\n::error::b":        false,
		"a ::error::b":         true,
		"a\n##[error]torture ": false,
	} {
		if err := checkClean(text); (err == nil) != clean {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
