package kubelet

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/sim/container"
)

// A log that has lost lines says so where they were, unless what is asked for begins after them.
func TestLogWithAGap(t *testing.T) {
	const gap = "(dropped 1200 lines: a simulated kubelet keeps at most 512 KiB of each run)\n"
	kept := []container.LogLine{{At: startTime.Time, Text: "a\n"}, {At: startTime.Add(time.Second), Text: "b\n"}}
	for name, tc := range map[string]struct {
		from, next int
		change     func(*corev1.PodLogOptions)
		want       string
	}{
		"whole":             {next: 2, want: "a\nb\n"},
		"gap":               {next: 1202, want: gap + "a\nb\n"},
		"gap in the middle": {from: 5, next: 1207, want: gap + "a\nb\n"},
		"the end of it":     {next: 1202, change: func(o *corev1.PodLogOptions) { o.TailLines = new(int64(2)) }, want: "a\nb\n"},
		"since":             {next: 1202, change: func(o *corev1.PodLogOptions) { o.SinceTime = &startTime }, want: gap + "a\nb\n"},
	} {
		t.Run(name, func(t *testing.T) {
			options := &corev1.PodLogOptions{Stream: new(corev1.LogStreamAll)}
			if tc.change != nil {
				tc.change(options)
			}
			format := newLogFormat(options, startTime.Time)
			if got := string(format.encodeLines(format.selectLines(logLinesAfter(tc.from, kept, tc.next)))); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
