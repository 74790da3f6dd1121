package devloop

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// telling are what lines look like that say why a program has failed, the most telling
// first: an error of the Go compiler, which names a column as the log package does not, a
// panic, a fatal error of the runtime, an exception that ends the main method of Java.
var telling = []*regexp.Regexp{
	regexp.MustCompile(`^\S+\.go:\d+:\d+: `),
	regexp.MustCompile(`^panic: `),
	regexp.MustCompile(`^fatal error: `),
	regexp.MustCompile(`^Exception in thread "main" `),
}

// crashes are how an exception ends programs of other languages: the error is the first line that is not indented after the
// last one that matches mark. At most follow lines are left after that, of its message and of what is shown with it; the
// last one matches end.
var crashes = []struct {
	mark, end *regexp.Regexp
	follow    int
}{
	{regexp.MustCompile(`^\s*\^+$`), regexp.MustCompile(`^Node\.js v\d`), maxLines},
	{regexp.MustCompile(`^Traceback \(most recent call last\):$`), regexp.MustCompile(``), 5}, // a program may go on after it has logged one
}

// maxLines is more than are kept of the output.
const maxLines = 1 << 20

// empty are lines that say nothing about the cause: of the go command, of Node.js and of a stack trace.
var empty = regexp.MustCompile(`^(# |exit status \d+$|signal: |go: downloading |goroutine \d+ |\s|created by |main\.main\(\)$|Node\.js v\d|\(Use .node |Caused by: |$)`)

// Lines of klog, of zap and slog as JSON and text, and of controller-runtime in development mode: those that report progress,
// as of a manager that stops, and those that report an error. zap calls V(2) and higher verbosities Level(-2).
var (
	progress = regexp.MustCompile(`(?i)^\{.*"level":"(info|debug|level\(-\d+\))"|^I\d{4} |^\S+\s+(INFO|DEBUG)\s|^(\w+=("[^"]*"|[^"\s]\S*) +)*level=(info|debug)\b`)
	logged   = regexp.MustCompile(`(?i)^\{.*"level":"(error|dpanic|panic|fatal)"|^[EF]\d{4} |^\S+\s+(ERROR|DPANIC|PANIC|FATAL)\s|^(\w+=("[^"]*"|[^"\s]\S*) +)*level=(error|fatal)\b`)
)

// TellingLine returns the line of a failed program's last output that most likely says why
// it has failed; empty if none does. It is the last one, unless that only reports progress after an error. Of a log line
// as JSON it returns the message and the error.
func TellingLine(lines []string) string { return messageOf(tellingLine(lines)) }

func tellingLine(lines []string) string {
	for _, pattern := range telling {
		for _, line := range lines {
			if pattern.MatchString(line) {
				return line
			}
		}
	}
	if line := crashLine(lines); line != "" {
		return line
	}
	last := lastLine(lines, func(line string) bool { return !empty.MatchString(line) })
	if progress.MatchString(last) {
		return cmp.Or(lastLine(lines, logged.MatchString), last)
	}
	return last
}

// crashLine returns the line of the error if an exception has ended the program as in crashes; empty if not.
func crashLine(lines []string) string {
	lines = slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.TrimSpace(line) == "" })
	for _, c := range crashes {
		var after []string // the mark
		for i, line := range lines {
			if c.mark.MatchString(line) {
				after = lines[i+1:]
			}
		}
		first := slices.IndexFunc(after, func(line string) bool { return strings.TrimLeft(line, " \t") == line })
		if first < 0 || !c.end.MatchString(lines[len(lines)-1]) {
			continue
		}
		follow := after[first+1:]
		if len(follow) <= c.follow && !slices.ContainsFunc(follow, isLogged) {
			return strings.TrimRight(after[first], "\r\n ")
		}
	}
	return ""
}

// messageOf returns the message and the error of a log line of zap, slog, logrus, zerolog or pino as JSON, which has a stack trace
// and other fields, too; of another line all of it.
func messageOf(line string) string {
	var fields map[string]any
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &fields) != nil {
		return line
	}
	parts := []string{cmp.Or(textOf(fields["msg"]), textOf(fields["message"])), cmp.Or(textOf(fields["error"]), textOf(fields["err"]))}
	parts = slices.Compact(slices.DeleteFunc(parts, func(part string) bool { return part == "" }))
	return cmp.Or(words.OneLine(strings.Join(parts, ": ")), line)
}

// textOf returns a text, or the message of an error as an object, as pino writes it.
func textOf(field any) string {
	if object, ok := field.(map[string]any); ok {
		field = object["message"]
	}
	text, _ := field.(string)
	return text
}

func isLogged(line string) bool { return progress.MatchString(line) || logged.MatchString(line) }

// lastLine returns the last line of a kind; empty if there is none.
func lastLine(lines []string, is func(line string) bool) string {
	for _, line := range slices.Backward(lines) {
		if line = strings.TrimRight(line, "\r\n "); is(line) {
			return line
		}
	}
	return ""
}
