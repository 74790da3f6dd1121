// Package words formats counts and foreign text for messages.
package words

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

type integer interface {
	~int | ~int32 | ~int64 | ~uint64
}

// Count returns a number with a noun that has a regular plural: "1 sync", "7 syncs".
func Count[N integer](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Cut returns at most limit bytes of s. What it returns does not keep a longer text in memory, such as the one that s is
// a part of.
func Cut(s string, limit int) string {
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "")
	}
	return strings.Clone(s)
}

// Shorten returns at most limit bytes of a text, with an ellipsis if it was longer. What it returns does not keep the text in
// memory.
func Shorten(text string, limit int) string {
	const ellipsis = "…"
	if len(text) > limit {
		return strings.ToValidUTF8(text[:limit-len(ellipsis)], "") + ellipsis
	}
	return strings.Clone(strings.ToValidUTF8(text, ""))
}

// Times returns "once" or "7 times".
func Times[N integer](n N) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Or lists alternatives: "a", "a or b", "a, b or c".
func Or(list []string) string { return join(list, " or ") }

// And lists what belongs together: "a", "a and b", "a, b and c".
func And(list []string) string { return join(list, " and ") }

func join(list []string, beforeLast string) string {
	last := len(list) - 1
	if last < 1 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:last], ", ") + beforeLast + list[last]
}

// Quote lists names in quotes: `"a", "b"`.
func Quote(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	return strings.Join(quoted, ", ")
}

// Path returns a path as a word of a command for a reader: in quotes, unless it has only characters that are usual in paths.
func Path(path string) string {
	if strings.Trim(path, `abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/\:._-+@%,`) != "" {
		return `"` + path + `"`
	}
	return path
}

// First lists the first names, and counts those beyond most: "a, b and 3 more".
func First(names []string, most int) string {
	if over := len(names) - most; over > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), over)
	}
	return strings.Join(names, ", ")
}

// OneLine makes untrusted text safe for a line on a terminal: it replaces line breaks
// and repeated spaces with single spaces, removes control and formatting characters,
// such as those that change the text direction, and replaces invalid UTF-8 with "?". CI
// services find no command of theirs in it, wherever it is wrapped.
func OneLine(s string) string {
	if isPlain(s) {
		return s
	}
	spaced := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return breakCICommands(strings.Join(strings.Fields(StripControls(spaced)), " "))
}

// Lines makes untrusted text of several lines safe for a terminal: it returns its lines
// as OneLine would, but keeps spaces, and replaces tabs with four of them.
func Lines(s string) []string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\t", "    ")
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, l := range lines {
		lines[i] = breakCICommands(StripControls(l))
	}
	return lines
}

// breakCICommands breaks what GitHub Actions and Azure Pipelines take for a command anywhere in a line of
// a log, and what GitHub Actions does at its beginning, because a line may begin with any word
// (actions/runner, ActionCommand.TryParse and TryParseV2; azure-pipelines-agent, Command.TryParse).
func breakCICommands(s string) string {
	s = ciMarks.Replace(s)
	for range 2 { // a space between two of them belongs to one match only
		if !strings.Contains(s, "::") {
			break
		}
		s = ciWord.ReplaceAllString(s, "${1}: :${2}")
	}
	return s
}

var (
	ciMarks = strings.NewReplacer("##[", "# #[", "##vso[", "# #vso[")
	ciWord  = regexp.MustCompile(`(^|[\s\pZ])::([A-Za-z-]+(?:\s|::))`) // not an IPv6 address
)

// StripControls removes control and formatting characters, including line breaks.
func StripControls(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return -1
		}
		return r
	}, s)
}

// isPlain reports whether OneLine would not change s. Most text is plain, and the live
// view cleans all of its text for each frame.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return !strings.Contains(s, "  ") && !strings.Contains(s, "##") && !strings.Contains(s, "::") && strings.TrimSpace(s) == s
}
