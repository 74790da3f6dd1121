package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A program that writes the same again and again, without an event, works by a timer.
func TestWhySaysThatWritesAreRegular(t *testing.T) {
	const (
		regular = "shop-operator (admin) has made this write 5 times in a row since 12:00:01.000, every 10.0 s."
		timer   = "The cause of the last line is not known, but is likely a timer: " + regular
	)
	every := func(pauses ...time.Duration) []time.Duration { return pauses }
	for name, test := range map[string]struct {
		pauses []time.Duration
		event  *observe.Received
		want   string
	}{
		"a timer":              {every(10*time.Second, 11*time.Second, 9*time.Second, 10*time.Second), &observe.Received{}, timer},
		"a program that polls": {every(10*time.Second, 11*time.Second, 9*time.Second, 10*time.Second), nil, regular},
		"after other work":     {every(time.Minute, 10*time.Second, 10*time.Second, 10*time.Second), &observe.Received{}, "likely a timer: shop-operator (admin) has made this write 4 times in a row since 12:01:01.000, every 10.0 s."},
		"too few":              {every(time.Second, 10*time.Second, 10*time.Second), &observe.Received{}, ""},
		"now and then":         {every(10*time.Second, 20*time.Second, 10*time.Second, 20*time.Second), &observe.Received{}, ""},
		"again and again":      {every(time.Millisecond, time.Millisecond, time.Millisecond, time.Millisecond), &observe.Received{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var records []observe.Record
			write := func(after time.Duration, object observe.Object) {
				records = appendLater(records, after, &observe.Called{Controller: "shop-operator (admin)", Client: &observe.Caller{}, Verb: "update", Subresource: "status", Object: object, Status: 200, Unexplained: test.event})
			}
			write(time.Second, deployment("web"))
			for _, pause := range test.pauses {
				write(pause/2, deployment("other"))
				write(pause/2, deployment("web"))
			}
			chain, err := Why(records, deployment("web"), Options{What: Changed})
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(strings.Fields(writeString(t, chain, Text, Style{})), " ")
			if test.want == "" && strings.Contains(text, "in a row") || !strings.Contains(text, test.want) {
				t.Errorf("want %q in\n%s", test.want, text)
			}
		})
	}
}
