//go:build !windows

package screen

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/google/go-cmp/cmp"
)

func TestRecordingKeepsChangedFrames(t *testing.T) {
	e, f := vt.NewEmulator(10, 3), &Recording{rowNumbers: map[string]int{}}
	began := time.Now()
	for i, text := range []string{"$ ", "a", "", "\r\n\x1b[32mb\x1b[m\r\n", "$ "} {
		if _, err := e.WriteString(text); err != nil {
			t.Fatal(err)
		}
		f.addFrame(e, began.Add(time.Duration(i*i)*time.Second))
	}
	var rows [][]int
	for _, st := range f.frames {
		rows = append(rows, st.rows)
	}
	// "$ " and "$ a" with the cursor, "$ a", "b", the cursor alone, and "$ " again.
	if diff := cmp.Diff([][]int{{0, -1, -1}, {1, -1, -1}, {2, 3, 4}, {2, 3, 0}}, rows); diff != "" {
		t.Errorf("-want +got:\n%s\n%q", diff, f.uniqueRows)
	}
	each, all := f.frameTimes()
	want := []time.Duration{time.Second, maxFrameTime, maxFrameTime, lastFrameTime}
	if diff := cmp.Diff(want, each); diff != "" || all != 10*time.Second {
		t.Errorf("-want +got:\n%s", diff)
	}
	svg := f.SVG()
	if !strings.Contains(svg, ".c0 { fill: #3fb950 }") {
		t.Errorf("green is not drawn in the terminal's color")
	}
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []string{
		"@keyframes k1 { 0% { visibility: hidden } 10.000% { visibility: visible } 35.000% { visibility: hidden } }\n#s1 { animation-name: k1 }",
		"animation: 10.000s step-end infinite", "<g id=\"s3\" class=\"still\">\n<use href=\"#r2\" y=\"14\"/>\n<use href=\"#r3\" y=\"30\"/>\n<use href=\"#r0\" y=\"46\"/>\n</g>",
	} {
		if !strings.Contains(svg, part) {
			t.Errorf("no %s in\n%s", part, svg)
		}
	}
}

func TestRecordProgram(t *testing.T) {
	s, err := Start(exec.CommandContext(t.Context(), "sh", "-c", "echo one; read a; echo two; read b"), 20, 5)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f := s.Record(ctx)
	awaitText(t, s, "one\n")
	sendKeys(t, s, "\r")
	awaitText(t, s, "two\n")
	cancel()
	if svg := f.SVG(); !strings.Contains(svg, ">one</text>") || !strings.Contains(svg, ">two</text>") {
		t.Errorf("%d frames:\n%s", len(f.frames), svg)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
