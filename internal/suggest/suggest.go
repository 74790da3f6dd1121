// Package suggest finds the name that a user probably meant ("did you mean …?").
package suggest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Nearest returns the name in known that word probably stands for: the one with the
// fewest typing errors (letters missing, added, replaced or swapped) if these are at most
// a third of word's letters; else the shortest one that begins with word, contains
// word or is contained in it. It ignores case and the order of known. A word longer than
// maxWordLength stands for none.
func Nearest(word string, known []string) (string, bool) {
	if word == "" || len(word) > maxWordLength {
		return "", false
	}
	var best string
	for _, likeness := range []func(word, name string) (int, bool){editsBetween, prefixLength, containedLength} {
		lowest, found := 0, false
		for _, name := range known {
			n, ok := likeness(strings.ToLower(word), strings.ToLower(name))
			if ok && (!found || cmp.Or(cmp.Compare(n, lowest), cmp.Compare(name, best)) < 0) {
				best, lowest, found = name, n, true
			}
		}
		if found {
			return best, true
		}
	}
	return "", false
}

// Hint returns "did you mean …?" with the name in known that word probably stands for,
// or otherwise if the name is unknown.
func Hint(word string, known []string, otherwise string) string {
	if near, ok := Nearest(word, known); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return otherwise
}

// maxWordLength is the length in bytes of the longest word that is compared: words come from requests, and
// a comparison takes time for each letter of the word and each of the name.
const maxWordLength = 256

// minPartLength is the number of letters from which on it means something that one name
// contains another.
const minPartLength = 3

func editsBetween(word, name string) (int, bool) {
	a, b := []rune(word), []rune(name)
	n := editDistance(a, b)
	return n, n <= max(1, len(a)/3) && n < min(len(a), len(b))
}

func prefixLength(word, name string) (int, bool) {
	return len(name), len(word) >= minPartLength && strings.HasPrefix(name, word)
}

func containedLength(word, name string) (int, bool) {
	return len(name), min(len(word), len(name)) >= minPartLength &&
		(strings.Contains(name, word) || strings.Contains(word, name))
}

// editDistance returns the optimal string alignment distance: the Damerau-Levenshtein
// distance in which no substring is edited twice.
func editDistance(a, b []rune) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(replace, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && slices.Equal(a[i-2:i], []rune{b[j-1], b[j-2]}) {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
