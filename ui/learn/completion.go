package learn

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// completionTimeout bounds how long Tab may take.
const completionTimeout = 3 * time.Second

// maxCompletions is the number of candidates that are listed.
const maxCompletions = 40

// completion is how a line can go on.
type completion struct {
	prefix     string   // of the last word, which the candidates complete
	candidates []string // for the last word
}

// lessonWords can be typed as the first word of a line.
var lessonWords = []string{"check", "help", "hint", "next", "page", "quit", "shell", "skip", "stop", "view"}

// completeLine completes the word before the cursor as far as it is certain, and lists the
// candidates if nothing is.
func (c *console) completeLine(line string, at int) (string, int, bool) {
	found := c.completing(line[:at])
	common := commonPrefix(found.candidates)
	if len(found.candidates) == 1 && !strings.HasSuffix(common, "/") && !strings.HasSuffix(common, "=") {
		common += " "
	}
	if added, ok := strings.CutPrefix(common, found.prefix); ok && added != "" {
		return line[:at] + added + line[at:], at + len(added), true
	}
	if len(found.candidates) > 1 {
		_, _ = c.editor.Write([]byte(c.listCandidates(found.candidates))) // its error is that of the next read
	}
	return line, at, true
}

func (c *console) listCandidates(list []string) string {
	rest := ""
	if len(list) > maxCompletions {
		list, rest = list[:maxCompletions], " …"
	}
	return c.wrap("", "", strings.Join(list, "  ")+rest)
}

// commonPrefix is what all words begin with.
func commonPrefix(list []string) string {
	if len(list) == 0 {
		return ""
	}
	first, last := slices.Min(list), slices.Max(list)
	n := 0
	for n < min(len(first), len(last)) && first[n] == last[n] {
		n++
	}
	return strings.ToValidUTF8(first[:n], "")
}

// completeCommand completes a command line of the reader.
func (s *shell) completeCommand(line string) completion {
	line = line[strings.LastIndexAny(line, "|;&(!")+1:]
	words := strings.Fields(line)
	last := ""
	if len(words) > 0 && !strings.HasSuffix(line, " ") {
		words, last = words[:len(words)-1], words[len(words)-1]
	}
	var found []string
	switch {
	case len(words) == 0:
		found = append(slices.Clone(lessonWords), "kubectl", "ctrlplane")
	case words[0] == "kubectl":
		found = s.askProgram(append([]string{"kubectl", "-n", s.namespace}, words[1:]...), last)
	case words[0] == "ctrlplane":
		found = s.askProgram(words[1:], last)
	}
	if len(words) > 0 {
		found = append(found, s.filesWithPrefix(last)...)
	}
	found = slices.DeleteFunc(found, func(c string) bool { return !strings.HasPrefix(c, last) })
	slices.Sort(found)
	return completion{last, slices.Compact(found)}
}

// askProgram asks ctrlplane itself for the words that can follow.
func (s *shell) askProgram(words []string, last string) (found []string) {
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program[0], append(append(slices.Clone(s.program[1:]), "__complete"), append(words, last)...)...)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.Output()
	if err != nil {
		return nil // Tab does nothing then
	}
	for line := range bytes.Lines(out) {
		text, _, _ := strings.Cut(strings.TrimSpace(string(line)), "\t")
		if strings.HasPrefix(text, ":") { // the directive, which is the last line
			break
		}
		if text != "" {
			found = append(found, text)
		}
	}
	return found
}

// filesWithPrefix returns the files of the lesson's folder that begin so.
func (s *shell) filesWithPrefix(prefix string) (found []string) {
	names, err := filepath.Glob(filepath.Join(s.dir, globQuote.Replace(prefix)+"*"))
	if err != nil {
		return nil
	}
	for _, n := range names {
		if rel, err := filepath.Rel(s.dir, n); err == nil && !strings.HasPrefix(rel, "..") {
			found = append(found, filepath.ToSlash(rel))
		}
	}
	return found
}

var globQuote = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
