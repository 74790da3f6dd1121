package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// column is a column of a table with a row for each T.
type column[T any] struct {
	heading string
	in      tableForm
	cell    func(T) string
}

// tableForm says in which form of a table, with or without -o wide, a column is.
type tableForm int

const (
	always tableForm = iota
	narrowOnly
	wideOnly
)

// tableRows returns the headings of the columns that the form has, and a row for each item.
func tableRows[T any](columns []column[T], wide bool, items []T) [][]string {
	rows := make([][]string, 1+len(items))
	for _, c := range columns {
		if c.in == wideOnly && !wide || c.in == narrowOnly && wide {
			continue
		}
		rows[0] = append(rows[0], c.heading)
		for i, item := range items {
			rows[i+1] = append(rows[i+1], c.cell(item))
		}
	}
	return rows
}

func sortByName(rows [][]string) {
	slices.SortStableFunc(rows, func(a, b []string) int { return cmp.Compare(a[0], b[0]) })
}

// minLabel is the width that labels keep, however wide the numbers are.
const minLabel = 16

// cutLabels cuts the first column of a table so that it fits width columns.
func cutLabels(rows [][]string, width int) {
	for i := range rows[0][1:] {
		width -= columnWidth(rows, i+1)
	}
	room := max(width, minLabel)
	for _, row := range rows {
		if label := []rune(row[0]); len(label) > room {
			row[0] = string(label[:room-1]) + ">"
		}
	}
}

const columnGap = 2

// columnWidth returns the width of a column with the gap beside it.
func columnWidth(rows [][]string, i int) int {
	widest := 0
	for _, row := range rows {
		widest = max(widest, utf8.RuneCountInString(row[i]))
	}
	return widest + columnGap
}

// formatTable aligns rows below an empty line. A table with only a header is empty.
func formatTable(rows [][]string) string {
	if len(rows) < 2 {
		return ""
	}
	fillCells(rows)
	return alignTable(rows)
}

// formatWrapped is formatTable with a last column that is wrapped so that the table fits width columns, unless that leaves it
// fewer than least.
func formatWrapped(rows [][]string, width, least int) string {
	if len(rows) < 2 {
		return ""
	}
	fillCells(rows)
	last := len(rows[0]) - 1
	for i := range last {
		width -= columnWidth(rows, i)
	}
	var wrapped [][]string
	for _, row := range rows {
		before := row[:last]
		for _, part := range words.Wrap(row[last], max(width, least)) {
			wrapped = append(wrapped, append(slices.Clone(before), part))
			before = make([]string, last)
		}
	}
	return alignTable(wrapped)
}

// fillCells makes each cell one line, and an empty one visible.
func fillCells(rows [][]string) {
	for _, row := range rows {
		for i, cell := range row {
			row[i] = cmp.Or(words.OneLine(cell), "-")
		}
	}
}

func alignTable(rows [][]string) string {
	var b strings.Builder
	b.WriteString("\n")
	t := tabwriter.NewWriter(&b, 0, 0, columnGap, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	t.Flush() // writing to a strings.Builder cannot fail
	return b.String()
}

// fits reports whether each line of a text has at most width columns.
func fits(text string, width int) bool {
	for l := range strings.Lines(text) {
		if utf8.RuneCountInString(strings.TrimRight(l, " \n")) > width {
			return false
		}
	}
	return true
}

// formatInt formats a number, of which -1 is unknown.
func formatInt(n int64) string {
	if n < 0 {
		return unknownNumber
	}
	return strconv.FormatInt(n, 10)
}

// unknownNumber stands for a number that is not known, which is not 0.
const unknownNumber = "?"

// formatRate formats a rate, of which -1 is unknown.
func formatRate(n float64) string {
	if n < 0 {
		return unknownNumber
	}
	return strconv.FormatFloat(n, 'f', 1, 64)
}

// formatQuantile formats a duration that was measured count times; without measurements it is empty.
func formatQuantile(count int64, d time.Duration) string {
	if count == 0 {
		return ""
	}
	return formatMeasured(d)
}

// formatPositive formats a duration, which is empty if nothing lasts.
func formatPositive(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return formatMeasured(d)
}

// formatMeasured formats a duration in few columns.
func formatMeasured(d time.Duration) string {
	switch {
	case d < 999500*time.Nanosecond: // what rounds to a larger unit has that
		return fmt.Sprintf("%.0fµs", max(1, float64(d)/1e3))
	case d < 9950*time.Microsecond:
		return fmt.Sprintf("%.1fms", float64(d)/1e6)
	}
	return compactDuration(d)
}
