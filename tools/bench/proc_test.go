package main

import (
	"errors"
	"os"
	"strings"
	"testing"
)

const smaps = `5590c6f0a000-7ffe4e5f2000 ---p 00000000 00:00 0                          [rollup]
Rss:                4224 kB
Pss:                1087 kB
Pss_Dirty:           707 kB
Pss_Anon:            707 kB
Anonymous:          1059 kB
Swap:                  0 kB
`

func TestParseSmaps(t *testing.T) {
	got, err := parseSmaps(smaps)
	if err != nil {
		t.Fatal(err)
	}
	want := memory{rss: 4224 * 1024, anon: 1059 * 1024, pss: 1087 * 1024}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got.fileBacked() != (4224-1059)*1024 {
		t.Errorf("file is %v", got.fileBacked())
	}
}

func TestParseSmapsErrors(t *testing.T) {
	tests := map[string]string{
		"":                     "has no ",
		"Rss: 1 kB\nPss: 1 kB": "has no Anonymous",
		"Rss: 1 MB":            `cannot read "Rss: 1 MB"`,
		"Rss: x kB":            `cannot read "Rss: x kB"`,
	}
	for data, want := range tests {
		if _, err := parseSmaps(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q in it", data, err, want)
		}
	}
}

// The figures of the test process are checked for plausibility.
func TestOwnProcessFigures(t *testing.T) {
	timeFixedWork()
	used, err := cpuTime(os.Getpid())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("not supported on this system")
	}
	if err != nil {
		t.Fatal(err)
	}
	timeFixedWork()
	after, err := cpuTime(os.Getpid())
	if err != nil || after <= used {
		t.Errorf("CPU time %v, %v after more work, %v before", after, err, used)
	}
	m, err := memoryOf(os.Getpid())
	if err != nil || m.rss < mebi || m.anon <= 0 || m.anon >= m.rss || m.pss <= 0 || m.pss > m.rss {
		t.Errorf("memory is %+v, %v", m, err)
	}
}

func TestMissingProcessIsAnError(t *testing.T) {
	const none = 1 << 22 // one more than the highest process ID on Linux
	if used, err := cpuTime(none); err == nil {
		t.Errorf("CPU time %v", used)
	}
	if m, err := memoryOf(none); err == nil {
		t.Errorf("memory %+v", m)
	}
}
