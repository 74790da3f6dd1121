package ui

import (
	"fmt"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// ignoredTime is how long a webhook that could not be called is worth a line: it may have been mended since.
const ignoredTime = 10 * time.Minute

// IgnoredWebhookLines says, one line each, which webhooks could not be called and were ignored a short time ago.
func IgnoredWebhookLines(s observe.Snapshot) (lines []string) {
	for _, w := range s.Process.IgnoredWebhooks {
		if ago := max(s.Time.Sub(w.Last), 0); ago <= ignoredTime {
			lines = append(lines, fmt.Sprintf("webhook %s could not be called and was ignored for %s, last %s ago", words.OneLine(w.Name), words.Count(w.Times, "write"), words.Duration(ago)))
		}
	}
	return lines
}
