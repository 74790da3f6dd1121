package main

import "testing"

// A terminal without a size has lines without a limit.
func TestSentencesFitTheTerminal(t *testing.T) {
	for width, want := range map[int]string{
		0:  "Webhook v.example.com is in x.\n",
		25: "Webhook v.example.com is\nin x.\n",
	} {
		if got := sentences([]string{"webhook v.example.com is in x"}, width); got != want {
			t.Errorf("width %d: got %q", width, got)
		}
	}
}
