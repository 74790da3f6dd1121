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
		line, _, _ = strings.Cut(strings.TrimSpace(withoutObjects(s.Message)), "\n")
	}
	if line == "" {
		line = fmt.Sprintf("%d %s", c.Status, cmp.Or(s.Reason, http.StatusText(c.Status)))
	}
	return strings.Clone(strings.ToValidUTF8(line[:min(len(line), MaxRefusal)], ""))
}

var (
	// quotedValue begins an object or a list in the text of a field.Error: in JSON, or in
	// the syntax of Go if it cannot be encoded.
	quotedValue = regexp.MustCompile(`((?:value|Not found): )(?:[&*\[\]\w.]*\w\{|\{|\[)`)
	// quotedBody is what a decoder quotes, or server-side apply of a value that is not of the
	// type in the schema: up to the end of the message.
	quotedBody = regexp.MustCompile(`(?s)( is missing in '|expected \w+, got &).*`)
)

// withoutObjects returns a message without the objects and lists that it quotes: they may
// have what should not be recorded, such as a password in the environment of a container.
// Simple values are kept: they are what is wrong.
func withoutObjects(message string) string {
	message = quotedBody.ReplaceAllString(message, "$1…")
	var b strings.Builder
	for {
		at := quotedValue.FindStringSubmatchIndex(message)
		if at == nil {
			return b.String() + message
		}
		open := at[1] - 1
		closing := map[byte]string{'{': "}", '[': "]"}[message[open]]
		b.WriteString(message[:at[3]] + message[open:at[1]] + "…" + closing)
		message = message[open+valueEnd([]byte(message[open:])):]
	}
}
