package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// markdownTable formats a Markdown table with aligned columns.
func markdownTable(header []string, rows [][]string) string {
	widths := make([]int, len(header))
	for _, row := range append([][]string{header}, rows...) {
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(text), 3)
		}
	}
	var b strings.Builder
	line := func(row []string) {
		for i, text := range row {
			b.WriteString("| " + text + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)) + " ")
		}
		b.WriteString("|\n")
	}
	line(header)
	for _, w := range widths {
		b.WriteString("| " + strings.Repeat("-", w) + " ")
	}
	b.WriteString("|\n")
	for _, row := range rows {
		line(row)
	}
	return b.String()
}

// formatFigure formats a number with three significant digits.
func formatFigure(v float64) string {
	switch {
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.9995:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}
