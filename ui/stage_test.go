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
