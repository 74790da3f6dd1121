package main

import (
	"context"
	"io"
	"regexp"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/webhookconfig"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui"
)

// troublingWebhook matches the name of a webhook that has refused or failed a write, or that was ignored, in texts of ours and in
// errors of upstream's admission.
var troublingWebhook = regexp.MustCompile(`webhook (?:"([^" ]+)"|([a-z0-9.-]+) (?:could not be|had changed) )`)

// maxWebhooks is of how many webhooks the configurations are named.
const maxWebhooks = 5

// describeWebhooks says, one line each, which configurations have the webhooks that a text names as the cause of trouble: kubectl
// lists configurations only, and those are what a user edits or deletes. Several may have one of that name.
func describeWebhooks(ctx context.Context, cfg *rest.Config, text string) (lines []string) {
	var named []string
	for _, m := range troublingWebhook.FindAllStringSubmatch(strings.Join(strings.Fields(text), " "), -1) {
		if name := m[1] + m[2]; !slices.Contains(named, name) {
			named = append(named, name)
		}
	}
	if len(named) == 0 {
		return nil
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	list, _ := webhookconfig.List(ctx, client) // the answer is complete without the lines: what could be listed is used
	for _, name := range named[:min(len(named), maxWebhooks)] {
		var in []string
		for _, c := range webhookconfig.Having(list, name) {
			in = append(in, c.String())
		}
		if len(in) > 0 {
			lines = append(lines, "webhook "+name+" is in "+words.Or(in))
		}
	}
	return lines
}

// writeWebhooks writes what describeWebhooks says below the answer to "why".
func writeWebhooks(ctx context.Context, out io.Writer, cfg *rest.Config, answer string) error {
	text := sentences(describeWebhooks(ctx, cfg, answer), traceStyle().Width)
	if text != "" && strings.Contains(answer, "\n\n") { // below the chain
		text = "\n" + text
	}
	_, err := io.WriteString(out, text)
	return err
}

// sentences writes lines as sentences of at most width columns; 0 means no limit, as of a terminal without a size.
func sentences(lines []string, width int) (text string) {
	for _, line := range lines {
		line = words.OneLine(strings.ToUpper(line[:1]) + line[1:] + ".")
		if width > 0 {
			line = strings.Join(words.Wrap(line, width), "\n")
		}
		text += line + "\n"
	}
	return text
}

// describeWebhooks says of which configurations the webhooks are that have to do with what fails.
func (c *statusCommand) describeWebhooks(ctx context.Context, s status) []string {
	texts := ui.IgnoredWebhookLines(s.Snapshot)
	for _, of := range s.Controllers {
		for _, f := range of.Failing {
			texts = append(texts, f.Error)
		}
	}
	for _, u := range s.Unhealthy {
		texts = append(texts, u.Reason)
	}
	texts = append(texts, ui.FailingWriteLines(s.FailingWrites)...)
	cfg, err := c.target.restConfig()
	if err != nil {
		return nil // the control plane has ended meanwhile
	}
	return describeWebhooks(ctx, cfg, strings.Join(texts, "\n"))
}
