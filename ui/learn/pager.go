package learn

import (
	"context"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// promptRows are the rows that are kept for the prompt below a text, minPart is the number
// of rows of a long text that are worth to be shown below another one.
const promptRows, minPart = 2, 6

// countRows returns the rows that a text takes on the screen.
func (s style) countRows(text string) (rows int) {
	width := s.Columns()
	for l := range strings.Lines(text) {
		if strings.HasSuffix(l, "\n") {
			rows++
		}
		if w := ansi.StringWidth(l); width > 0 && w > width {
			rows += (w - 1) / width
		}
	}
	return rows
}

// terminalRows is the height of the reader's terminal; 0 means that nothing is paged.
func (c *console) terminalRows() int {
	if c.tty == nil {
		return 0
	}
	_, rows, err := term.GetSize(int(c.tty.Fd()))
	if err != nil {
		return 0
	}
	return rows
}

// printPaged prints a text, and waits for Enter before it would move something off the
// screen that the reader has not seen. A text that is longer than the screen is printed in
// parts.
func (r *runner) printPaged(ctx context.Context, text string) error {
	room := r.rows() - promptRows
	if r.rows() == 0 || room <= minPart {
		r.printf("%s", text)
		return nil
	}
	for _, part := range r.splitRows(text, room) {
		if r.shown > 0 && r.shown+r.countRows(part) > room {
			if err := r.waitForEnter(ctx, "More: press Enter. "); err != nil {
				return err
			}
			r.erasePrompt()
		}
		r.printf("%s", part)
	}
	return nil
}

// erasePrompt erases the prompt at which Enter was pressed: it would stay in the middle of a text.
func (c *console) erasePrompt() {
	if c.tty != nil {
		c.printf("\x1b[A\x1b[K")
	}
}

// splitRows splits a text that does not fit in room rows. The first part fits below what is
// shown, unless little room is left there.
func (r *runner) splitRows(text string, room int) (parts []string) {
	if r.countRows(text) <= room {
		return []string{text}
	}
	left := room - r.shown
	if left < minPart {
		left = room
	}
	var part strings.Builder
	for l := range strings.Lines(text) {
		n := r.countRows(l)
		if part.Len() > 0 && n > left {
			parts = append(parts, part.String())
			part.Reset()
			left = room
		}
		part.WriteString(l)
		left -= n
	}
	return append(parts, part.String())
}
