package recording

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/ctrlplane/ctrlplane/observe"
)

// MaxRefusal is how much is kept of why a request was refused.
const MaxRefusal = 1 << 10

// Refusal says why a request was refused: the first line of the server's message, as the
// others are a comparison of objects, without what the message quotes of the body. Of a
// Secret only the reason is kept: the message may quote a value in any form, whether it is
// of the validation or of a webhook. What it returns does not keep the message in memory.
func (s ResponseSummary) Refusal(c *observe.Called) string {
	isSecret := c.Object.Group == "" && c.Object.Resource == "secrets" && c.IsWrite()
	var line string
	if s.Kind == "Status" && !isSecret {
		line, _, _ = strings.Cut(strings.TrimSpace(s.Message), "\n")
		line = withoutObjects(line)
	}
	if line == "" {
		line = fmt.Sprintf("%d %s", c.Status, cmp.Or(s.Reason, http.StatusText(c.Status)))
		for _, known := range []string{observe.InjectedFault, observe.RestoredMeanwhile, observe.NamespaceTerminating, observe.NotPerformed} {
			if strings.Contains(s.Message, known) {
				line += ": " + known
			}
		}
	}
	return strings.Clone(strings.ToValidUTF8(line[:min(len(line), MaxRefusal)], ""))
}

// quoted begins what a message quotes of the body. 1: an object or a list in the text of a
// field.Error, in JSON, or in the syntax of Go if it cannot be encoded. 2: up to the end of
// the message, by a decoder, or by server-side apply of a value of another type.
var quoted = regexp.MustCompile(`((?:value|Not found): )(?:[&*\[\]\w.]*\w\{|\{|\[)|(is missing in '|expected \w+, got &)`)

// withoutObjects returns the beginning of a line without the objects and lists that it
// quotes: they may have what should not be recorded, such as a password in the environment
// of a container. Simple values are kept: they are what is wrong.
func withoutObjects(line string) string {
	var b strings.Builder
	for b.Len() < MaxRefusal {
		begin := line[:min(len(line), MaxRefusal)] // of more, a search would be slow, and in vain
		at := quoted.FindStringSubmatchIndex(begin)
		if at == nil {
			b.WriteString(begin)
			break
		}
		if at[2] < 0 {
			b.WriteString(begin[:at[1]] + "…")
			break
		}
		open := at[1] - 1
		closing := map[byte]string{'{': "}", '[': "]"}[line[open]]
		b.WriteString(line[:at[3]] + line[open:at[1]] + "…" + closing)
		line = line[open+valueEnd([]byte(line[open:])):]
	}
	return b.String()
}
