package observe

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// What webhooks do to a call is noted in the goroutines that serve it, of a controller's call and of a client's.
func TestNotedWebhooks(t *testing.T) {
	o := newTestObserver(t, Options{})
	note := func() { // as upstream: validating webhooks at the same time
		NoteWebhook("m.example.com", WebhookChanged)
		NoteWebhook("m.example.com", WebhookChanged) // reinvoked
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { NoteWebhook("v.example.com", WebhookIgnored) })
		}
		wg.Wait()
	}
	want := []Webhook{{"m.example.com", WebhookChanged}, {"v.example.com", WebhookIgnored}}

	var served ServedCall
	served.Serve("client", note)
	if got := served.Webhooks(); !slices.Equal(got, want) {
		t.Errorf("of a client: got %+v", got)
	}
	if got := (*ServedCall)(nil).Webhooks(); got != nil {
		t.Errorf("of no call: got %+v", got)
	}
	note() // outside of any call

	var many ServedCall
	many.Serve("client", func() {
		for i := range 100 {
			NoteWebhook(fmt.Sprintf("m%d.example.com", i), WebhookChanged)
		}
	})
	if got := many.Webhooks(); len(got) != maxWebhooks {
		t.Errorf("of a call with 100 webhooks: got %d", len(got))
	}

	r := o.Recorder("controller")
	r.Call(&Called{Verb: "create", Status: 201}, note)
	r.Call(&Called{Verb: "create", Status: 201}, func() {})
	r.Call(&Called{Verb: "create", Status: 403}, note) // refused later: what webhooks did to it has no effect
	o.AppendAt(&Called{Controller: "client", Verb: "create", Status: 201, Webhooks: want}, time.Now())
	page, err := o.Records(t.Context(), Query{Kinds: []Kind{KindCalled}})
	if err != nil || len(page.Records) != 4 {
		t.Fatalf("%d records: %v", len(page.Records), err)
	}
	if got := page.Records[0].Event.(*Called).Webhooks; !slices.Equal(got, want) {
		t.Errorf("of a controller: got %+v", got)
	}
	if got := page.Records[1].Event.(*Called).Webhooks; got != nil {
		t.Errorf("of the call after it: got %+v", got)
	}
	if got := page.Records[2].Event.(*Called).Webhooks; got != nil {
		t.Errorf("of a refused call: got %+v", got)
	}
	s, err := o.Snapshot(t.Context())
	if ignored := s.Process.IgnoredWebhooks; err != nil || len(ignored) != 1 || ignored[0].Name != "v.example.com" || ignored[0].Times != 2 || ignored[0].Last.IsZero() {
		t.Errorf("ignored: %+v: %v", ignored, err)
	}
}
