package words

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 syncs", 1: "1 sync", 7: "7 syncs"} {
		if got := Count(n, "sync"); got != want {
			t.Errorf("got %q, want %q", got, want)
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

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		" two\r\n\tlines ":       "two lines",
		"red \x1b[31mtext\x1b[m": "red [31mtext[m",
		"c1 \u009b31m":           "c1 31m",
		"bad \xff byte":          "bad  byte",
		"naïve ✓":                "naïve ✓",
	} {
		if got := OneLine(in); got != want {
			t.Errorf("OneLine(%q) is %q, want %q", in, got, want)
		}
	}
}
