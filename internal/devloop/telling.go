package devloop

import (
	"cmp"
	"regexp"
	"slices"
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

// Lines of klog, of zap and slog as JSON and text, and of controller-runtime in development mode: those that report progress,
// as of a manager that stops, and those that report an error.
var (
	progress = regexp.MustCompile(`(?i)^\{.*"level":"(info|debug)"|^I\d{4} |^\S+\s+(INFO|DEBUG)\s|^(\w+=("[^"]*"|[^"\s]\S*) +)*level=(info|debug)\b`)
	logged   = regexp.MustCompile(`(?i)^\{.*"level":"(error|dpanic|panic|fatal)"|^[EF]\d{4} |^\S+\s+(ERROR|DPANIC|PANIC|FATAL)\s|^(\w+=("[^"]*"|[^"\s]\S*) +)*level=(error|fatal)\b`)
)

// TellingLine returns the line of a failed program's last output that most likely says why
// it has failed; empty if none does. It is the last one, unless that only reports progress after an error.
func TellingLine(lines []string) string {
	for _, pattern := range telling {
		for _, line := range lines {
			if pattern.MatchString(line) {
				return line
			}
		}
	}
	last := lastLine(lines, func(line string) bool { return !empty.MatchString(line) })
	if progress.MatchString(last) {
		return cmp.Or(lastLine(lines, logged.MatchString), last)
	}
	return last
}

// lastLine returns the last line of a kind; empty if there is none.
func lastLine(lines []string, is func(line string) bool) string {
	for _, line := range slices.Backward(lines) {
		if line = strings.TrimRight(line, "\r\n "); is(line) {
			return line
		}
	}
	return ""
}
