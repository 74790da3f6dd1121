package live

import (
	"math"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

func TestTruncate(t *testing.T) {
	for _, s := range []string{"", "a", "deployment", "日本語のテキスト", "a日b本c", "👩‍👩‍👧‍👦 family", "é"} {
		for w := range 12 {
			if got := textWidth(truncate(words.OneLine(s), w, "…")); got > w {
				t.Errorf("truncate(%q, %d) is %d wide", s, w, got)
			}
		}
	}
}

func TestLineTruncate(t *testing.T) {
	l := line{{"abc", plain}, {"def", bad}, {"ghi", faint}}
	want := []string{"", "…", "a…", "ab…", "abc…", "abcd…", "abcde…", "abcdef…", "abcdefg…", "abcdefghi", "abcdefghi"}
	for w, s := range want {
		if got := l.truncate(w, "…").plainText(); got != s {
			t.Errorf("truncate(%d) = %q, want %q", w, got, s)
		}
	}
}

func TestLineWrap(t *testing.T) {
	l := line{{" ab:", bad}, {" cd efg", plain}, {" hi 日本", faint}}
	for _, c := range []struct {
		w, most int
		want    string
	}{{20, 2, " ab: cd efg hi 日本"}, {11, 2, " ab: cd efg| hi 日本"}, {10, 2, " ab: cd| efg hi 日本"}, {10, 3, " ab: cd| efg hi| 日本"}, {2, 3, " ab: cd efg hi 日本"}, {5, 1, " ab: cd efg hi 日本"}} {
		var got []string
		for _, part := range l.wrap(c.w, c.most) {
			got = append(got, part.plainText())
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("width %d, at most %d lines: %q, want %q", c.w, c.most, got, c.want)
		}
	}
	if head, rest := l.splitAt(6); head[1].style != plain || rest[0].style != plain || rest[1].style != faint {
		t.Errorf("styles: %v, %v", head, rest)
	}
}

func TestRenderWithoutColor(t *testing.T) {
	th := newTheme(false, true, false)
	for st := range styleCount {
		if got := th.renderLine(styledLine("x", st), 5, true); got != "x" {
			t.Errorf("style %d without color is %q", st, got)
		}
	}
}

func TestRenderSelected(t *testing.T) {
	for _, dark := range []bool{true, false} {
		got := newTheme(true, dark, false).renderLine(line{{"ab", plain}, {"cd", bad}}, 8, true)
		if lipgloss.Width(got) != 8 || strings.Count(got, "48;5;") != 2 {
			t.Errorf("a selected line is %q", got)
		}
	}
}

func TestFormatNumbers(t *testing.T) {
	second := time.Second
	got := []string{
		ui.GroupDigits(0), ui.GroupDigits(1234), ui.GroupDigits(int64(-1234567)), ui.GroupDigits(uint64(999)),
		formatShort(0), formatShort(9999), formatShort(10_000), formatShort(12_345), formatShort(1_200_000), formatShort(999_600_000),
		formatRate(0), formatRate(0.04), formatRate(0.1), formatRate(99.9), formatRate(100.2), formatRate(9999), formatRate(12_345), formatRate(3e6),
		formatAge(0), formatAge(61 * second), formatAge(3*time.Hour + 4*time.Minute), formatAge(49 * time.Hour), formatAge(-second),
		formatDuration(0, false), formatDuration(1, false), formatDuration(850*time.Microsecond, false), formatDuration(850*time.Microsecond, true),
		formatDuration(1234*time.Microsecond, false), formatDuration(45*time.Millisecond, false), formatDuration(999*time.Millisecond, false),
		formatDuration(1200*time.Millisecond, false), formatDuration(45*second, false), formatDuration(125*second, false),
		formatDuration(30*time.Minute, false), formatDuration(3*time.Hour+4*time.Minute, false), formatDuration(50*time.Hour, false),
		ui.CountNoun(1, "read"), ui.CountNoun(2000, "read"),
	}
	want := []string{
		"0", "1,234", "-1,234,567", "999",
		"0", "9999", "10.0k", "12.3k", "1.2M", "1.0G",
		"", "", "0.1", "99.9", "100", "9999", "12.3k", "3.0M",
		"0s", "1m 01s", "3h 04m", "2d 01h", "0s",
		"0", "1µs", "850µs", "850us",
		"1.2ms", "45ms", "999ms",
		"1.2s", "45s", "2m05s",
		"30m", "3h04m", "50h",
		"1 read", "2,000 reads",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBar(t *testing.T) {
	th, ascii := newTheme(false, true, false), newTheme(false, true, true)
	for _, depth := range []int64{-1, 0, 1, 10, 100, 4095, 1 << 40, math.MaxInt64 / 2} {
		for w := range 10 {
			for _, theme := range []*theme{th, ascii} {
				if got := theme.depthBar(depth, 2*depth, barScale(2*depth), w); got.width() != w {
					t.Errorf("depthBar(%d) in %d columns is %d wide", depth, w, got.width())
				}
			}
		}
	}
	for _, c := range []struct {
		depth, peak, scale int64
		want               string
	}{
		{0, 0, 10, ".........."}, {5, 5, 10, "█████....."}, {1, 1, 1000, "▏........."}, {3, 3, 200, "▏........."}, {25, 25, 200, "█▎........"}, {7, 14, 50, "█▍░......."}, {10, 10, 10, "██████████"},
		{0, 3, 10, "░░░......."}, {2, 8, 10, "██░░░░░░.."}, {0, 1, 1000, "┊........."}, {0, 12, 200, "░........."}, {0, 9, 200, "┊........."},
	} {
		got := strings.ReplaceAll(th.depthBar(c.depth, c.peak, c.scale, 10).plainText(), " ", ".")
		if got != c.want {
			t.Errorf("depth %d, peak %d of %d: %q, want %q", c.depth, c.peak, c.scale, got, c.want)
		}
	}
	for deepest, want := range map[int64]int64{0: 10, 10: 10, 11: 20, 21: 50, 51: 100, 312: 500, 1900: 2000, 5e18: 5e18, 5e18 + 1: math.MaxInt64, math.MaxInt64: math.MaxInt64} {
		if got := barScale(deepest); got != want {
			t.Errorf("scale of %d: %d, want %d", deepest, got, want)
		}
	}
}

func TestChart(t *testing.T) {
	th := newTheme(false, true, false)
	history := make([]observe.Sample, historySamples)
	history[59].MaxDepth, history[0].MaxDepth = 16, 8
	if got := th.depthChart(history, 59, 12, 1)[0]; got != "▄          █" {
		t.Errorf("chart: %q", got)
	}
	if got := th.depthChart(history, 59, 12, 2); got[0] != "           █" || got[1] != "█          █" {
		t.Errorf("chart of two rows: %q", got)
	}
	if got := th.depthChart(nil, 59, 12, 1)[0]; strings.Trim(got, " ") != "" || len(got) != 12 {
		t.Errorf("chart of nothing: %q", got)
	}
	// A second later the peak is in the same column, five seconds later one to the left.
	moved := append(history[1:], observe.Sample{})
	if got := th.depthChart(moved, 60, 12, 1)[0]; got != "          █ " {
		t.Errorf("a second later: %q", got)
	}
	if got := th.depthChart(append(moved[1:], observe.Sample{}), 61, 12, 1)[0]; got != "          █ " {
		t.Errorf("two seconds later: %q", got)
	}
}

func TestFeedItemsAreSanitized(t *testing.T) {
	evil := "a\x1b]0;title\a\nb"
	object := observe.Object{Resource: evil, Kind: evil, Namespace: evil, Name: evil}
	for _, r := range recordsOf(
		&observe.Called{Controller: evil, Verb: evil, Object: object, Subresource: evil, Error: evil},
		&observe.Synced{Controller: evil, Queue: evil, Key: evil, Error: evil},
		&observe.Logged{Controller: evil, Message: evil, Attrs: []observe.Attr{{Key: evil, Value: evil}}},
		&observe.Delivered{Controller: evil, Change: observe.Change(evil), Object: object, Queues: []string{evil}},
		&observe.Delivered{Controller: evil, AlsoTo: []string{evil}, Change: observe.Change(evil), Object: object},
		&observe.ControllerChanged{Controller: evil, State: evil, Reason: evil},
		&observe.BootStep{Step: evil, Error: evil},
	) {
		if got := describeRecord(r).filterText(); words.StripControls(got) != got {
			t.Errorf("%s: %q", r.Event.Kind(), got)
		}
	}
}

// A deletion that finds its object gone does not count as a failure.
func TestDeletionOfAMissingObjectIsNotRed(t *testing.T) {
	for status, want := range map[int]string{404: "", 403: markBad} {
		for _, r := range recordsOf(&observe.Called{Controller: "kubelet", Verb: "delete", Status: status, Error: "refused"}) {
			if got := describeRecord(r).mark; got != want {
				t.Errorf("%d: mark %v, want %v", status, got, want)
			}
		}
	}
}

// A filter finds the events that a controller has received, also if they are told of several at once.
func TestFilterTextOfSharedDeliveries(t *testing.T) {
	e := &observe.Delivered{Controller: "job-controller", AlsoTo: []string{"replicaset-controller"}, Change: observe.Added, Object: observe.Object{Kind: "Pod", Name: "web"}, Took: time.Microsecond}
	item := describeRecord(observe.Record{Event: e})
	if item.took != 0 {
		t.Error("the time in a handler takes the place of how many there are")
	}
	text := item.filterText()
	for _, name := range []string{"job", "replicaset", "replicaset-controller", "nor by 1 other"} {
		if !containsWords(text, name) {
			t.Errorf("%q does not match %q", text, name)
		}
	}
}

// What a client without the module queues is not known: its events say nothing of queues.
func TestEventOfAClientSaysNothingOfQueues(t *testing.T) {
	for controller, want := range map[string]string{
		"karpenter (kubernetes-admin)":                "",
		"shop (system:serviceaccount:shop:shop)":      "",
		"shop (https://example.com/oidc#ann)":         "",
		"shop (system:serviceaccount:shop:shop)/site": "nothing queued",
		"shop/site":             "nothing queued",
		"replicaset-controller": "nothing queued",
	} {
		e := &observe.Delivered{Controller: controller, Change: observe.Updated, Object: observe.Object{Kind: "NodeClaim", Name: "default-kwh79"}}
		if got := describeRecord(observe.Record{Event: e}).note; got != want {
			t.Errorf("%s: note %q, want %q", controller, got, want)
		}
	}
}
