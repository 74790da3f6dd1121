package report

import (
	"fmt"
	"regexp"

	"github.com/ctrlplane/ctrlplane/ui"
)

// excerpt is the end of many lines, after the beginning of a crash if that is further up.
type excerpt []excerptPart

type excerptPart struct {
	Omitted int  // lines that are left out before it
	Cut     bool // there may be more of those
	Lines   []string
}

// crashBegin matches the line with which runtimes begin to report a crash. The reason follows at once, and then a trace
// that may be longer than an excerpt: of Go, Java, Python and Rust.
var crashBegin = regexp.MustCompile(`^(?:panic: |fatal error: |Exception in thread |Traceback \(most recent call last\)|thread .* panicked at )`)

// newExcerpt returns the last lines and, if a crash begins before those, as many lines of it as head says. earlier is how
// many lines precede the given ones.
func newExcerpt(lines []string, earlier, tail, head int) excerpt {
	from := max(len(lines)-tail, 0)
	crash := lastCrash(lines)
	switch {
	case crash < 0 || crash >= from:
		return excerpt{{Omitted: earlier + from, Lines: lines[from:]}}
	case crash+head >= from:
		return excerpt{{Omitted: earlier + crash, Lines: lines[crash:]}}
	}
	return excerpt{{Omitted: earlier + crash, Lines: lines[crash : crash+head]}, {Omitted: from - crash - head, Lines: lines[from:]}}
}

// lastCrash returns the line at which the last crash begins; -1 if none does.
func lastCrash(lines []string) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if crashBegin.MatchString(lines[i]) {
			return i
		}
	}
	return -1
}

// truncated returns the excerpt with at most n runes of a line.
func (e excerpt) truncated(n int) excerpt {
	short := make(excerpt, len(e))
	for i, part := range e {
		short[i].Omitted, short[i].Cut = part.Omitted, part.Cut
		for _, line := range part.Lines {
			short[i].Lines = append(short[i].Lines, truncateText(line, n))
		}
	}
	return short
}

// Note says how many lines are left out. It is empty if none are.
func (p excerptPart) Note() string {
	switch {
	case p.Omitted > 0 && p.Cut:
		return fmt.Sprintf("… at least %s left out", ui.CountNoun(p.Omitted, "line"))
	case p.Omitted > 0:
		return fmt.Sprintf("… %s left out", ui.CountNoun(p.Omitted, "line"))
	case p.Cut:
		return "… earlier lines may be left out"
	}
	return ""
}

// text returns the lines, and marks where some are left out. where says where those are.
func (e excerpt) text(where string) (lines []string) {
	for _, part := range e {
		if note := part.Note(); note != "" {
			lines = append(lines, note+": "+where)
		}
		lines = append(lines, part.Lines...)
	}
	return lines
}

// last returns the last lines, if there are any.
func (e excerpt) last(n int) []string {
	if len(e) == 0 {
		return nil
	}
	lines := e[len(e)-1].Lines
	return lines[max(len(lines)-n, 0):]
}
