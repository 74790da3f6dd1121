package screen

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/vt"
)

const (
	minFrameTime  = 80 * time.Millisecond // for which a frame is shown
	maxFrameTime  = 2500 * time.Millisecond
	lastFrameTime = 4 * time.Second // for which the last frame is shown
)

// Recording is what a terminal has shown, as a sequence of frames.
type Recording struct {
	cols, rows int
	palette    palette
	frames     []frame
	rowNumbers map[string]int // by the drawing of the row: equal rows are kept once
	uniqueRows []string
	done       sync.WaitGroup
}

// frame is what the terminal showed at a time.
type frame struct {
	at   time.Time
	rows []int // indexes in uniqueRows; -1 = empty
}

// Record records what the terminal shows until ctx ends; SVG returns it then.
func (s *Screen) Record(ctx context.Context) *Recording {
	f := &Recording{rowNumbers: map[string]int{}}
	f.done.Go(func() {
		ticker := time.NewTicker(minFrameTime)
		defer ticker.Stop()
		for ctx.Err() == nil {
			s.mu.Lock()
			changed := s.changed
			f.addFrame(s.emulator, time.Now())
			s.mu.Unlock()
			select {
			case <-changed:
			case <-ctx.Done():
			}
			select { // no shorter frames than can be seen
			case <-ticker.C:
			case <-ctx.Done():
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		f.addFrame(s.emulator, time.Now()) // the last frame
	})
	return f
}

// addFrame adds what an emulator shows now, unless that is the same as before.
func (f *Recording) addFrame(e *vt.Emulator, now time.Time) {
	f.cols, f.rows = e.Width(), e.Height()
	cursor := e.CursorPosition()
	st := frame{at: now}
	same := len(f.frames) > 0
	for y := range f.rows {
		text := f.palette.drawRow(e, y)
		if y == cursor.Y {
			text += fmt.Sprintf("<rect%s class=\"text\" opacity=\"0.7\"/>\n", rectAttributes(columnX(cursor.X), 0, cellWidth, cellHeight))
		}
		n := f.rowNumber(text)
		st.rows = append(st.rows, n)
		same = same && f.frames[len(f.frames)-1].rows[y] == n
	}
	if !same {
		f.frames = append(f.frames, st)
	}
}

// rowNumber returns the index of a row in uniqueRows; -1 if it is empty.
func (f *Recording) rowNumber(text string) int {
	if text == "" {
		return -1
	}
	n, ok := f.rowNumbers[text]
	if !ok {
		n = len(f.uniqueRows)
		f.rowNumbers[text] = n
		f.uniqueRows = append(f.uniqueRows, text)
	}
	return n
}

// drawRow draws a row at the position of the first one.
func (p *palette) drawRow(e *vt.Emulator, y int) string {
	var back, front strings.Builder
	for _, r := range splitRuns(e, y) {
		p.drawRun(&back, &front, r, 0)
	}
	return back.String() + front.String()
}

// SVG returns the recording as a self-contained animation in a loop. For viewers who
// prefer reduced motion it shows the last frame. It waits until the recording's
// context ends.
func (f *Recording) SVG() string {
	f.done.Wait()
	times, all := f.frameTimes()
	var rows, stills, moves strings.Builder
	for i, text := range f.uniqueRows {
		fmt.Fprintf(&rows, "<g id=\"r%d\">\n%s</g>\n", i, text)
	}
	began := time.Duration(0)
	for i, st := range f.frames {
		percent := func(d time.Duration) float64 { return 100 * d.Seconds() / all.Seconds() }
		from, to := percent(began), percent(began+times[i])
		fmt.Fprintf(&moves, "@keyframes k%d { 0%% { visibility: hidden } %.3f%% { visibility: visible } %.3f%% { visibility: hidden } }\n#s%d { animation-name: k%d }\n", i, from, to, i, i)
		fmt.Fprintf(&stills, "<g id=\"s%d\" class=\"still\">\n", i)
		for y, n := range st.rows {
			if n >= 0 {
				fmt.Fprintf(&stills, "<use href=\"#r%d\" y=\"%g\"/>\n", n, rowY(y))
			}
		}
		stills.WriteString("</g>\n")
		began += times[i]
	}
	style := fmt.Sprintf(`.still { visibility: hidden; animation: %.3fs step-end infinite }
%s@media (prefers-reduced-motion: reduce) {
.still { animation: none }
#s%d { visibility: visible }
}
`, all.Seconds(), moves.String(), len(f.frames)-1)
	return formatSVG(f.cols, f.rows, f.palette, style, "<defs>\n"+rows.String()+"</defs>\n"+stills.String())
}

// frameTimes returns how long each frame is shown: its duration within the limits.
func (f *Recording) frameTimes() (each []time.Duration, all time.Duration) {
	for i, st := range f.frames {
		d := lastFrameTime
		if i+1 < len(f.frames) {
			d = min(max(f.frames[i+1].at.Sub(st.at), minFrameTime), maxFrameTime)
		}
		each, all = append(each, d), all+d
	}
	return each, all
}
