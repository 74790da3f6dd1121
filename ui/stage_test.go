package ui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestFormatDuration(t *testing.T) {
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
		if got := formatDuration(d); got != want {
			t.Errorf("formatDuration(%v) = %q, want %q", d, got, want)
		}
	}
}

// drawStages draws one stage of each kind.
func drawStages(m Mode) string {
	const ms = time.Millisecond
	return strings.Join([]string{
		Stage{Name: "etcd", Took: 41 * ms, Done: true}.finalLine(m),
		Stage{Name: "certificates", Took: 3 * ms, Err: errors.New("boom"), Done: true}.finalLine(m),
		Stage{Name: "a stage with a long name", Took: 61 * time.Second}.finalLine(m),
		Stage{Name: "API server", Took: 1234 * ms}.runningLine(m),
		Stage{Name: "a stage with a long name", Took: 250 * ms}.runningLine(m),
	}, "\n") + "\n"
}

func TestStageLines(t *testing.T) {
	for _, width := range []int{0, 5, 20, 40, 80, 120} {
		for _, color := range []bool{false, true} {
			name := fmt.Sprintf("stages/live-%d%s", width, map[bool]string{true: "-color"}[color])
			t.Run(name, func(t *testing.T) {
				got := drawStages(Mode{Live: true, Color: color, Width: fixedWidth(width)})
				testutil.Golden(t, "testdata/"+name+".golden", []byte(got))
				if plain := drawStages(Mode{Live: true, Width: fixedWidth(width)}); stripEscapes(got) != plain {
					t.Errorf("without escapes it differs from the plain text:\n%s", stripEscapes(got))
				}
			})
		}
	}
	testutil.Golden(t, "testdata/stages/plain.golden", []byte(drawStages(Mode{})))
	testutil.Golden(t, "testdata/stages/ascii.golden", []byte(drawStages(Mode{Live: true, ASCII: true})))
}

// Progress redraws running stages by their number: each must fit one row.
func TestRunningLineFitsTerminal(t *testing.T) {
	for _, name := range []string{"etcd", "a stage with a long name", "ü長い名前の段階です"} {
		for _, ascii := range []bool{false, true} {
			for width := 2; width <= 80; width++ {
				m := Mode{Live: true, Color: true, ASCII: ascii, Width: fixedWidth(width)}
				line := Stage{Name: name, Took: time.Second}.runningLine(m)
				if got := lipgloss.Width(line); got >= width {
					t.Errorf("width %d: a line has %d columns: %q", width, got, line)
				}
			}
		}
	}
}
