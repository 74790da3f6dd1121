package ui

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// fakeTerminal implements the terminal features that Progress uses: text, line
// feeds (with the carriage returns that a terminal driver adds), cursor up, and
// erasing to the end of the line or screen. It wraps at its width.
type fakeTerminal struct {
	t     *testing.T
	width int

	mu       sync.Mutex
	rows     [][]rune
	row, col int
	writes   int
}

func (s *fakeTerminal) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	for rest := string(p); rest != ""; {
		if after, ok := strings.CutPrefix(rest, "\x1b["); ok {
			end := strings.IndexFunc(after, func(r rune) bool { return r >= 'A' && r <= 'z' })
			s.handleEscape(after[:end], after[end])
			rest = after[end+1:]
			continue
		}
		r := []rune(rest)[0]
		rest = rest[len(string(r)):]
		s.putRune(r)
	}
	return len(p), nil
}

func (s *fakeTerminal) handleEscape(args string, command byte) {
	switch command {
	case 'm':
	case 'A':
		var n int
		if _, err := fmt.Sscan(args, &n); err != nil || n < 1 || n > s.row {
			s.t.Errorf("cursor up by %q from row %d", args, s.row)
			return
		}
		s.row -= n
	case 'K':
		s.growToCursor()
		s.rows[s.row] = s.rows[s.row][:s.col]
	case 'J':
		s.growToCursor()
		s.rows = s.rows[:s.row+1]
		s.rows[s.row] = s.rows[s.row][:s.col]
	default:
		s.t.Errorf("unknown control %q %q", args, command)
	}
}

func (s *fakeTerminal) putRune(r rune) {
	if r == '\n' {
		s.row, s.col = s.row+1, 0
		return
	}
	if s.width > 0 && s.col == s.width {
		s.row, s.col = s.row+1, 0
	}
	s.growToCursor()
	s.rows[s.row] = append(s.rows[s.row][:s.col], append([]rune{r}, s.rows[s.row][min(s.col+1, len(s.rows[s.row])):]...)...)
	s.col++
}

// growToCursor extends the rows to the cursor position.
func (s *fakeTerminal) growToCursor() {
	for len(s.rows) <= s.row {
		s.rows = append(s.rows, nil)
	}
	for len(s.rows[s.row]) < s.col {
		s.rows[s.row] = append(s.rows[s.row], ' ')
	}
}

// String returns the rows and checks that the cursor is below them.
func (s *fakeTerminal) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, row := range s.rows {
		b.WriteString(strings.TrimRight(string(row), " ") + "\n")
	}
	got := strings.TrimRight(b.String(), "\n") + "\n"
	if rows := strings.Count(got, "\n"); s.col != 0 || s.row != rows {
		s.t.Errorf("the cursor is at row %d, column %d below %d rows:\n%s", s.row, s.col, rows, got)
	}
	return got
}
