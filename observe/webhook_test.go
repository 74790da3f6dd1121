package observe

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// What webhooks do to a call is noted in the goroutines that serve it, of a controller's call and of a client's.
func TestNotedWebhooks(t *testing.T) {
	o := newTestObserver(t, Options{})
	note := func() { // as upstream: validating webhooks at the same time
		NoteWebhook(Webhook{Name: "m.example.com", Outcome: WebhookChanged, Fields: []string{"metadata.labels", "spec"}})
		NoteWebhook(Webhook{Name: "m.example.com", Outcome: WebhookChanged, Fields: []string{"spec", "data"}}) // reinvoked
		NoteWebhook(Webhook{Outcome: WebhookChanged})
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { NoteWebhook(Webhook{Name: "v.example.com", Outcome: WebhookIgnored}) })
		}
		wg.Wait()
	}
	want := []Webhook{
		{Name: "m.example.com", Outcome: WebhookChanged, Fields: []string{"metadata.labels", "spec", "data"}},
		{Outcome: WebhookChanged}, {Name: "v.example.com", Outcome: WebhookIgnored},
	}

	var served ServedCall
	served.Serve("client", note)
	if got := served.Webhooks(); !reflect.DeepEqual(got, want) {
		t.Errorf("of a client: got %+v", got)
	}
	if got := (*ServedCall)(nil).Webhooks(); got != nil {
		t.Errorf("of no call: got %+v", got)
	}
	note() // outside of any call

	var large ServedCall
	large.Serve("client", func() {
		var fields []string
		for i := range 100 {
			fields = append(fields, fmt.Sprint("data.", i, strings.Repeat("x", 1000)))
		}
		for range 2 { // reinvoked
			NoteWebhook(Webhook{Name: "m.example.com", Outcome: WebhookChanged, Fields: fields})
		}
	})
	if got := large.Webhooks(); len(got) != 1 || len(got[0].Fields) != maxWebhookFields || got[0].MoreFields != 100-maxWebhookFields || len(got[0].Fields[0]) != maxWebhookField {
		t.Errorf("of a patch of 100 fields: got %.2000v", got)
	}

	var many ServedCall
	many.Serve("client", func() {
		for i := range 100 {
			NoteWebhook(Webhook{Name: fmt.Sprintf("m%d.example.com", i), Outcome: WebhookChanged})
		}
	})
	if got := many.Webhooks(); len(got) != maxWebhooks {
		t.Errorf("of a call with 100 webhooks: got %d", len(got))
	}

	r := o.Recorder("controller")
	r.Call(&Called{Verb: "create", Status: 201}, note)
	r.Call(&Called{Verb: "create", Status: 201}, func() {})
	r.Call(&Called{Verb: "create", Status: 403}, note) // refused, perhaps because of what webhooks have changed
	o.AppendAt(&Called{Controller: "client", Verb: "create", Status: 201, Webhooks: want}, time.Now())
	page, err := o.Records(t.Context(), Query{Kinds: []Kind{KindCalled}})
	if err != nil || len(page.Records) != 4 {
		t.Fatalf("%d records: %v", len(page.Records), err)
	}
	if got := page.Records[0].Event.(*Called).Webhooks; !reflect.DeepEqual(got, want) {
		t.Errorf("of a controller: got %+v", got)
	}
	if got := page.Records[1].Event.(*Called).Webhooks; got != nil {
		t.Errorf("of the call after it: got %+v", got)
	}
	if got := page.Records[2].Event.(*Called).Webhooks; !reflect.DeepEqual(got, want[:2]) {
		t.Errorf("of a refused call: got %+v", got)
	}
	s, err := o.Snapshot(t.Context())
	if ignored := s.Process.IgnoredWebhooks; err != nil || len(ignored) != 1 || ignored[0].Name != "v.example.com" || ignored[0].Times != 2 || ignored[0].Last.IsZero() {
		t.Errorf("ignored: %+v: %v", ignored, err)
	}
}

// An ignored webhook that was removed since is forgotten: the same one that is made again has not been ignored yet.
func TestIgnoredWebhooksThatWereRemoved(t *testing.T) {
	there := map[string]bool{"a.example.com": true, "b.example.com": true}
	o := New(Options{HasWebhook: func(name string) bool { return there[name] }})
	defer o.Close()
	for name := range there {
		o.AppendAt(&Called{Verb: "create", Status: 201, Webhooks: []Webhook{{Name: name, Outcome: WebhookIgnored}}}, time.Now())
	}
	for _, step := range []struct {
		b    bool
		want int
	}{{true, 2}, {false, 1}, {true, 1}} {
		there["b.example.com"] = step.b
		if s, err := o.Snapshot(t.Context()); err != nil || len(s.Process.IgnoredWebhooks) != step.want {
			t.Errorf("%t: got %+v, %v", step.b, s.Process.IgnoredWebhooks, err)
		}
	}
}
