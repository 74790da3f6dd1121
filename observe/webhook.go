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

// maxWebhooks is how many are noted of a call.
const maxWebhooks = 20

// NoteWebhook notes what a webhook does to the call that the calling goroutine serves, if that is recorded: once if the
// webhook is called again for the same write. It takes no lock: upstream calls validating webhooks at the same time.
func NoteWebhook(name string, outcome WebhookOutcome) {
	s := currentScope()
	if s == nil || s.call == nil {
		return
	}
	w := Webhook{name, outcome}
	for {
		noted := s.call.webhooks.Load()
		var list []Webhook
		if noted != nil {
			list = *noted
		}
		if len(list) == maxWebhooks || slices.Contains(list, w) {
			return
		}
		list = append(slices.Clip(list), w)
		if s.call.webhooks.CompareAndSwap(noted, &list) {
			return
		}
	}
}

// notedWebhooks returns what was noted, oldest first.
func (c *callRun) notedWebhooks() []Webhook {
	if noted := c.webhooks.Load(); noted != nil {
		return *noted
	}
	return nil
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
func (s *sampler) noteIgnored(called []Webhook, r *Record) {
	for _, w := range called {
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
