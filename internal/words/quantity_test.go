package words

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                           "<1 ms",
		499 * time.Microsecond:      "<1 ms",
		500 * time.Microsecond:      "1 ms",
		41 * time.Millisecond:       "41 ms",
		999 * time.Millisecond:      "999 ms",
		999600 * time.Microsecond:   "1.0 s",
		1234 * time.Millisecond:     "1.2 s",
		59949 * time.Millisecond:    "59.9 s",
		59950 * time.Millisecond:    "1 m 00 s",
		61 * time.Second:            "1 m 01 s",
		90*time.Minute + 5500*1e6:   "90 m 06 s",
		-1 * time.Second:            "<1 ms",
		59*time.Second + 999*1000e3: "1 m 00 s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1500: "1.5 KiB", 222_000_000: "212 MiB", 5 << 30: "5.0 GiB", 999<<20 + 700<<10: "1.0 GiB"} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
}
