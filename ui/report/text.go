package report

// truncateText cuts text to at most n runes.
func truncateText(s string, n int) string {
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return s
}
