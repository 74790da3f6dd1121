package main

import "testing"

// The line "[dev] watching" names what is a source: a user sees that a file is none.
func TestDescribeSources(t *testing.T) {
	for want, files := range map[string][]string{
		"sources: *.yaml, *.py":              {"/w/a.py", "/w/b/c.py", "/w/d.yaml"},
		"no file in --watch matches --match": nil,
		"1 source":                           {"/w/operator.conf"}, // named by --watch
	} {
		if got := describeSources(defaultMatch, files); got != want {
			t.Errorf("%q: got %q, want %q", files, got, want)
		}
	}
}
