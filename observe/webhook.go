package observe

import "slices"

// Webhook is what an admission webhook did to a write that was admitted.
type Webhook struct {
	Name    string         `json:"name"`
	Outcome WebhookOutcome `json:"outcome"`
}

// WebhookOutcome says what a webhook did.
type WebhookOutcome string

// The outcomes. An ignored webhook could not be called, and its failurePolicy is Ignore. One that has changed the object is
// a mutating one.
const (
	WebhookIgnored WebhookOutcome = "ignored"
	WebhookChanged WebhookOutcome = "changed"
)

// webhookNote is what is noted about a webhook while its call is served.
type webhookNote struct {
	Webhook
	before *webhookNote
}

// NoteWebhook notes what a webhook does to the call that the calling goroutine serves, if that is recorded. It takes no
// lock: upstream calls validating webhooks at the same time.
func NoteWebhook(name string, outcome WebhookOutcome) {
	s := currentScope()
	if s == nil || s.call == nil {
		return
	}
	n := &webhookNote{Webhook{name, outcome}, s.call.webhooks.Load()}
	for !s.call.webhooks.CompareAndSwap(n.before, n) {
		n.before = s.call.webhooks.Load()
	}
}

// notedWebhooks returns what was noted, oldest first: once for a webhook that was called again for the same write.
func (c *callRun) notedWebhooks() (list []Webhook) {
	for n := c.webhooks.Load(); n != nil; n = n.before {
		if !slices.Contains(list, n.Webhook) {
			list = append(list, n.Webhook)
		}
	}
	slices.Reverse(list)
	return list
}

// Webhooks returns what webhooks did to the call. A nil ServedCall had none.
func (s *ServedCall) Webhooks() []Webhook {
	if s == nil {
		return nil
	}
	return s.run.notedWebhooks()
}

// maxIgnoredWebhooks is how many ignored webhooks a Snapshot has.
const maxIgnoredWebhooks = 100

// noteIgnored counts the webhooks that were ignored for a write.
func (s *sampler) noteIgnored(c *Called, r *Record) {
	for _, w := range c.Webhooks {
		if w.Outcome != WebhookIgnored {
			continue
		}
		at := slices.IndexFunc(s.ignored, func(i IgnoredWebhook) bool { return i.Name == w.Name })
		if at < 0 && len(s.ignored) < maxIgnoredWebhooks {
			at = len(s.ignored)
			s.ignored = append(s.ignored, IgnoredWebhook{Name: w.Name})
		}
		if at >= 0 {
			s.ignored[at].Times++
			s.ignored[at].Last = r.Time
		}
	}
}

// ignoredWebhooks returns the webhooks that were ignored since the start, the first of them first.
func (s *sampler) ignoredWebhooks() []IgnoredWebhook {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updateFailures()
	return slices.Clone(s.ignored)
}
