package observe

import (
	"net/http"
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// Webhook is what an admission webhook, or the MutatingAdmissionPolicies, did to a write, other than to allow or to refuse it.
type Webhook struct {
	// Name is empty for the policies: which of them did it is not known.
	Name    string         `json:"name,omitempty"`
	Outcome WebhookOutcome `json:"outcome"`
	// Fields are the paths of the fields that the patches of a webhook name, or that the policies have changed: the first of
	// them, cut to 200 bytes each. Values are not recorded.
	Fields []string `json:"fields,omitempty"`
	// MoreFields is how many other fields there are.
	MoreFields int `json:"moreFields,omitempty"`
}

// WebhookOutcome says what a webhook did.
type WebhookOutcome string

// The outcomes. An ignored webhook could not be called, and its failurePolicy is Ignore. One that has changed the object is
// a mutating one, and so is one whose answer could not be applied: its write was refused, and the error need not name it.
const (
	WebhookIgnored   WebhookOutcome = "ignored"
	WebhookChanged   WebhookOutcome = "changed"
	WebhookUnapplied WebhookOutcome = "unapplied"
)

// How many webhooks are noted of a call, how many fields of each, and how long a path is.
const (
	maxWebhooks      = 20
	maxWebhookFields = 8
	maxWebhookField  = 200
)

// NoteWebhook notes what a webhook does to the call that the calling goroutine serves, if that is recorded: once if the
// webhook is called again for the same write. It takes no lock: upstream calls validating webhooks at the same time.
func NoteWebhook(w Webhook) {
	s := currentScope()
	if s == nil || s.call == nil {
		return
	}
	for {
		noted := s.call.webhooks.Load()
		var list []Webhook
		if noted != nil {
			list = slices.Clone(*noted)
		}
		at := slices.IndexFunc(list, func(n Webhook) bool { return n.Name == w.Name && n.Outcome == w.Outcome })
		switch {
		case at < 0 && len(list) < maxWebhooks:
			at = len(list)
			list = append(list, Webhook{Name: w.Name, Outcome: w.Outcome})
		case at < 0, len(w.Fields) == 0:
			return
		}
		list[at].addFields(w.Fields)
		if s.call.webhooks.CompareAndSwap(noted, &list) {
			return
		}
	}
}

// addFields adds the fields that w does not have. Those that it does not keep are as many as in the longest list: when the
// webhook is called again, its patch most often has the same fields.
func (w *Webhook) addFields(fields []string) {
	w.Fields = slices.Clip(w.Fields)
	more := 0
	for _, f := range fields {
		f = words.Cut(f, maxWebhookField)
		switch {
		case slices.Contains(w.Fields, f):
		case len(w.Fields) == maxWebhookFields:
			more++
		default:
			w.Fields = append(w.Fields, f)
		}
	}
	w.MoreFields = max(w.MoreFields, more)
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

// AddWebhooks adds what was noted of a call, which has been answered. Of one that was refused only what may be the reason counts: what
// has changed the object, or could not. A conflict has another one.
func (c *Called) AddWebhooks(noted []Webhook) {
	switch {
	case !c.Failed():
		c.Webhooks = noted
	case c.Status == 0 || c.Status == http.StatusConflict:
	default:
		for _, w := range noted {
			if w.Outcome != WebhookIgnored {
				c.Webhooks = append(c.Webhooks, w)
			}
		}
	}
}

// maxIgnoredWebhooks is how many ignored webhooks a Snapshot has.
const maxIgnoredWebhooks = 100

// noteIgnored counts the webhooks that were ignored for a write.
func (w *follower) noteIgnored(called []Webhook, r *Record) {
	for _, hook := range called {
		if hook.Outcome != WebhookIgnored {
			continue
		}
		at := slices.IndexFunc(w.ignored, func(i IgnoredWebhook) bool { return i.Name == hook.Name })
		if at < 0 && len(w.ignored) < maxIgnoredWebhooks {
			at = len(w.ignored)
			w.ignored = append(w.ignored, IgnoredWebhook{Name: hook.Name})
		}
		if at >= 0 {
			w.ignored[at].Times++
			w.ignored[at].Last = r.Time
		}
	}
}

// ignoredWebhooks returns the webhooks that were ignored since the start, the first of them first, and forgets those that were
// removed since.
func (w *follower) ignoredWebhooks() []IgnoredWebhook {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.update()
	if asks := w.observer.options.Load(); asks != nil && asks.HasWebhook != nil {
		w.ignored = slices.DeleteFunc(w.ignored, func(i IgnoredWebhook) bool { return !asks.HasWebhook(i.Name) })
	}
	return slices.Clone(w.ignored)
}
