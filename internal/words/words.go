// Package words formats counts and foreign text for messages.
package words

import (
	"fmt"
	"strings"
	"unicode"
)

type integer interface {
	~int | ~int32 | ~int64 | ~uint64
}

// Count returns a number with a noun that has a regular plural: "1 sync", "7 syncs".
func Count[N integer](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Times returns "once" or "7 times".
func Times[N integer](n N) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// OneLine makes text from elsewhere fit for a line on a terminal: it replaces line
// breaks and repeated spaces with single spaces and removes control characters.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, strings.Join(strings.Fields(s), " "))
}
