package recording

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unique"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/net"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// MaxRefusal is how much is kept of why a request was refused.
const MaxRefusal = 1 << 10

// ellipsis stands for what is left out of a text.
const ellipsis = "…"

// Refusal says why a request was refused: the server's message on one line, up to an object
// or a comparison of objects, without what the message quotes of the body. Of a Secret only
// the reason is kept: the message may quote a value in any form, whether it is of the
// validation or of a webhook. What it returns does not keep the message in memory.
func (s ResponseSummary) Refusal(c *observe.Called) string {
	var line string
	if s.Kind == "Status" && !isSecretWrite(c) {
		line = joinLines(beforeObject(withoutObjects(strings.TrimSpace(s.Message)))) + s.budgetCause()
	}
	if line == "" {
		line = fmt.Sprintf("%d %s", c.Status, cmp.Or(s.Reason, http.StatusText(c.Status)))
		for _, known := range []string{observe.InjectedFault, observe.RestoredMeanwhile, observe.NamespaceTerminating, observe.NotPerformed} {
			if strings.Contains(s.Message, known) {
				line += ": " + known
			}
		}
	}
	return words.Shorten(line, MaxRefusal)
}

// SyncError returns what is kept of the error of a sync: as Refusal, of which it often has the text.
func SyncError(text string) string {
	return words.Shorten(withoutObjects(text), MaxRefusal)
}

// describeSentName returns the name of the object that a request was to create, which the answer need not have; "" if the server
// was to generate it. What it returns does not keep the body in memory.
func describeSentName(req *http.Request) string {
	return readSent(req, func(sent []byte) string {
		return strings.Clone(ParseObject(req.Header.Get("Content-Type"), sent).Metadata.Name)
	})
}

// budgetCause names the PodDisruptionBudget that does not allow an eviction, which the message does not, with a space before it.
func (s ResponseSummary) budgetCause() string {
	for _, c := range s.Details.Causes {
		if c.Type == string(policyv1.DisruptionBudgetCause) && c.Message != "" {
			return " " + words.OneLine(c.Message)
		}
	}
	return ""
}

func isSecretWrite(c *observe.Called) bool {
	return c.Object.Group == "" && c.Object.Resource == "secrets" && c.IsWrite()
}

const (
	maxWarnings = 3   // kept of an answer; the others are counted
	maxWarning  = 200 // bytes
)

// Warnings returns what the answer to a write warns of, such as a field that the kind does not have, without objects and lines of
// the body that it quotes; a webhook may quote a single value. Of a Secret it returns nothing, as Refusal.
func Warnings(answer http.Header, c *observe.Called) (list []string) {
	headers := answer["Warning"]
	if len(headers) == 0 || !c.IsWrite() || isSecretWrite(c) {
		return nil
	}
	parsed, _ := net.ParseWarningHeaders(headers[:min(len(headers), maxWarnings)])
	for _, w := range parsed[:min(len(parsed), maxWarnings)] {
		text := words.Shorten(words.OneLine(withoutObjects(w.Text)), maxWarning)
		list = append(list, unique.Make(text).Value()) // many writes have the same
	}
	if more := len(headers) - maxWarnings; more > 0 && len(list) > 0 {
		list = append(list, words.Count(more, "more warning"))
	}
	return list
}

// object begins a comparison of objects, as a unified diff, or a line with an object, in JSON
// or in the syntax of Go.
var object = regexp.MustCompile(`@@ -\d|(?m:^[\s\x{a0}]*[-+&*()\[\]\w.]*(?:\{|map\[)|[{\[]$)`)

// beforeObject returns what is before an object in a text of several lines. Rules of RBAC are
// shown: they are what is wrong, and have no values.
func beforeObject(text string) string {
	if !strings.Contains(text, "\n") || strings.Contains(text, "attempting to grant RBAC permissions not currently held:") {
		return text
	}
	if at := object.FindStringIndex(text); at != nil {
		return strings.TrimSpace(text[:at[0]])
	}
	return text
}

// joinLines returns the lines of a text that are not blank, on one line: a policy engine may
// name the policy after others.
func joinLines(text string) string {
	if !strings.Contains(text, "\n") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), " ")
}

// quoted begins what a message quotes of the body. 1: an object or a list in the text of a
// field.Error, in JSON, or in the syntax of Go if it cannot be encoded. 2 and 3: up to the end
// of the message, by a decoder, or by server-side apply of a value of another type. An operator
// may use similar words in an error of its own, which has to be kept.
var quoted = regexp.MustCompile(`((?:value|Not found): )(?:[&*\[\]\w.]*\w\{|\{|\[)|(Object '\w+' is missing in ')|(expected \w+, got &)[\w.*]*[{\[]`)

// withoutObjects returns the beginning of a text without the objects and lists that it
// quotes: they may have what should not be recorded, such as a password in the environment
// of a container. Simple values are kept: they are what is wrong.
func withoutObjects(text string) string {
	var b strings.Builder
	for text != "" {
		if b.Len() >= MaxRefusal {
			b.WriteString(ellipsis)
			break
		}
		begin := text[:min(len(text), MaxRefusal)] // of more, a search would be slow, and find nothing
		at := quoted.FindStringSubmatchIndex(begin)
		if at == nil {
			b.WriteString(begin)
			text = text[len(begin):]
			continue
		}
		if at[2] < 0 {
			b.WriteString(begin[:max(at[5], at[7])] + ellipsis)
			break
		}
		open := at[1] - 1
		closing := map[byte]string{'{': "}", '[': "]"}[text[open]]
		b.WriteString(text[:at[3]] + text[open:at[1]] + ellipsis + closing)
		text = text[open+valueEnd([]byte(text[open:])):]
	}
	return b.String()
}
