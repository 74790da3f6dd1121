package ui

import (
	"slices"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestIgnoredWebhookLines(t *testing.T) {
	now := time.Now()
	s := observe.Snapshot{Time: now, Process: observe.Process{IgnoredWebhooks: []observe.IgnoredWebhook{
		{Name: "long-ago.example.com", Times: 3, Last: now.Add(-time.Hour)},
		{Name: "v.example.com", Times: 46, Last: now.Add(-12 * time.Second)},
		{Name: "m.\x1b[31mexample.com\n", Times: 1, Last: now.Add(-time.Second)},
	}}}
	want := []string{
		"webhook v.example.com could not be called and was ignored for 46 writes, last 12.0 s ago",
		"webhook m.[31mexample.com could not be called and was ignored for 1 write, last 1.0 s ago",
	}
	if got := IgnoredWebhookLines(s); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
