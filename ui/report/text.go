package report

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// sanitizeText turns untrusted text into one line without control or formatting
// characters.
func sanitizeText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// truncateText cuts text to at most n runes.
func truncateText(s string, n int) string {
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return s
}

// pluralize returns "1 object" or "2,000 objects".
func pluralize[N int | int64 | uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return groupDigits(n) + " " + what + "s"
}

// groupDigits formats a number with separators: 1,234,567.
func groupDigits[N int | int64 | uint64](n N) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// formatDuration formats a duration with three digits.
func formatDuration(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.3g ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%d µs", d.Microseconds())
}
