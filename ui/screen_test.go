package ui

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// screen is a terminal that knows what Progress uses of one: text, line feeds
// (with carriage returns, as a terminal driver adds them), cursor up, and
// erasing to the end of the line and of the screen. It wraps at its width.
type screen struct {
	t     *testing.T
	width int

	mu       sync.Mutex
	rows     [][]rune
	row, col int
	writes   int
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	for rest := string(p); rest != ""; {
		if after, ok := strings.CutPrefix(rest, "\x1b["); ok {
			end := strings.IndexFunc(after, func(r rune) bool { return r >= 'A' && r <= 'z' })
			s.control(after[:end], after[end])
			rest = after[end+1:]
			continue
		}
		r := []rune(rest)[0]
		rest = rest[len(string(r)):]
		s.put(r)
	}
	return len(p), nil
}

func (s *screen) control(args string, command byte) {
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
		s.at()
		s.rows[s.row] = s.rows[s.row][:s.col]
	case 'J':
		s.at()
		s.rows = s.rows[:s.row+1]
		s.rows[s.row] = s.rows[s.row][:s.col]
	default:
		s.t.Errorf("unknown control %q %q", args, command)
	}
}

func (s *screen) put(r rune) {
	if r == '\n' {
		s.row, s.col = s.row+1, 0
		return
	}
	if s.width > 0 && s.col == s.width {
		s.row, s.col = s.row+1, 0
	}
	s.at()
	s.rows[s.row] = append(s.rows[s.row][:s.col], append([]rune{r}, s.rows[s.row][min(s.col+1, len(s.rows[s.row])):]...)...)
	s.col++
}

// at makes sure that the cursor's row exists and reaches the cursor.
func (s *screen) at() {
	for len(s.rows) <= s.row {
		s.rows = append(s.rows, nil)
	}
	for len(s.rows[s.row]) < s.col {
		s.rows[s.row] = append(s.rows[s.row], ' ')
	}
}

// String returns the rows, and checks that the cursor is below them.
func (s *screen) String() string {
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
