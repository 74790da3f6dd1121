package ui

import "fmt"

// GroupDigits formats a number with separators: 1,234,567.
func GroupDigits[N int | int64 | uint64](n N) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// CountNoun returns "1 record" or "2,000 records".
func CountNoun[N int | int64 | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return GroupDigits(n) + " " + noun + "s"
}
