package words

import (
	"slices"
	"strings"
	"testing"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 syncs", 1: "1 sync", 7: "7 syncs"} {
		if got := Count(n, "sync"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for in, want := range map[string]string{"": "", "short": "short", "a\xffb": "ab", "longer": "lo…", "lé日日": "l…", "日日": "…"} {
		if got := Shorten(in, 5); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestTimes(t *testing.T) {
	for n, want := range map[int32]string{0: "0 times", 1: "once", 7: "7 times"} {
		if got := Times(n); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	for want, list := range map[string][]string{"": nil, `"a"`: {"a"}, `"a", "b\"c"`: {"a", `b"c`}} {
		if got := Quote(list); got != want {
			t.Errorf("%q: got %s, want %s", list, got, want)
		}
	}
}

func TestFirst(t *testing.T) {
	for want, list := range map[string][]string{"": nil, "a": {"a"}, "a, b": {"a", "b"}, "a, b and 2 more": {"a", "b", "c", "d"}} {
		if got := First(list, 2); got != want {
			t.Errorf("%q: got %q, want %q", list, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		" two\r\n\tlines ":       "two lines",
		"a ##[error]b":           "a # #[error]b",
		"a###vso[task.complete]": "a## #vso[task.complete]",
		"## heading":             "## heading",
		"::error::a":             ": :error::a",
		"a ::error file=b::c":    "a : :error file=b::c",
		"a\n  ::add-mask::b":     "a : :add-mask::b",
		"::a ::b ::c ::d::e":     ": :a : :b : :c : :d::e",
		"dial [::1] ::1 ::":      "dial [::1] ::1 ::",
		"::ffff:10.0.0.1 a::b::": "::ffff:10.0.0.1 a::b::",
		"red \x1b[31mtext\x1b[m": "red [31mtext[m",
		"c1 \u009b31m, \u0085":   "c1 31m,",
		"bad \xff byte, \x9b":    "bad ? byte, ?",
		"\u202egnp.exe\u200b":    "gnp.exe",
		"a\u2028b \x07 c\ufeff":  "a b c",
		"naïve ✓ 日本":             "naïve ✓ 日本",
		"":                       "",
	} {
		if got := OneLine(in); got != want {
			t.Errorf("OneLine(%q) is %q, want %q", in, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	got := Lines("a:\n  b: \x1b[2J\u202ec\u009b\n\td\xff\r\n\u00a0::error::e\n\n")
	if want := []string{"a:", "  b: [2Jc", "    d?", "\u00a0: :error::e"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOrAnd(t *testing.T) {
	for want, list := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := Or(list); got != want {
			t.Errorf("%q: got %q, want %q", list, got, want)
		}
		want = strings.ReplaceAll(want, " or ", " and ")
		if got := And(list); got != want {
			t.Errorf("%q: got %q, want %q", list, got, want)
		}
	}
}

func TestPath(t *testing.T) {
	for path, want := range map[string]string{
		"/home/jo/.local/state/ctrlplane": "/home/jo/.local/state/ctrlplane",
		`C:\Users\jo`:                     `C:\Users\jo`,
		`C:\Users\Jo Doe`:                 `"C:\Users\Jo Doe"`,
		"a|b":                             `"a|b"`,
	} {
		if got := Path(path); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
