package devloop

import (
	"regexp"
	"strings"
)

// telling are what lines look like that say why a program has failed, the most telling
// first: an error of the Go compiler, which names a column as the log package does not, a
// panic, a fatal error of the runtime.
var telling = []*regexp.Regexp{
	regexp.MustCompile(`^\S+\.go:\d+:\d+: `),
	regexp.MustCompile(`^panic: `),
	regexp.MustCompile(`^fatal error: `),
}

// empty are lines that say nothing about the cause: of the go command, and of a stack trace.
var empty = regexp.MustCompile(`^(# |exit status \d+$|signal: |go: downloading |goroutine \d+ |\s|created by |main\.main\(\)$|$)`)

// TellingLine returns the line of a failed program's last output that most likely says why
// it has failed; empty if none does.
func TellingLine(lines []string) string {
	for _, pattern := range telling {
		for _, line := range lines {
			if pattern.MatchString(line) {
				return line
			}
		}
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if line := strings.TrimRight(lines[i], "\r\n "); !empty.MatchString(line) {
			return line
		}
	}
	return ""
}
