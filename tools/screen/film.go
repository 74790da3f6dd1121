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
	shortest = 80 * time.Millisecond // that a picture of a film is shown
	longest  = 2500 * time.Millisecond
	ending   = 4 * time.Second // how long the last one is shown
)

// Film is what a terminal has shown, picture by picture.
type Film struct {
	cols, rows int
	look       palette
	stills     []still
	lines      map[string]int // rows that look alike are kept once: their number
	kept       []string
	over       sync.WaitGroup
}

// still is a picture of a film.
type still struct {
	at    time.Time
	lines []int // of kept; -1 = empty
}

// Film takes down what is shown until ctx ends; SVG returns it then.
func (s *Screen) Film(ctx context.Context) *Film {
	f := &Film{lines: map[string]int{}}
	f.over.Go(func() {
		ticker := time.NewTicker(shortest)
		defer ticker.Stop()
		for ctx.Err() == nil {
			s.mu.Lock()
			changed := s.changed
			f.take(s.emulator, time.Now())
			s.mu.Unlock()
			select {
			case <-changed:
			case <-ctx.Done():
			}
			select { // no more than there is time to see
			case <-ticker.C:
			case <-ctx.Done():
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		f.take(s.emulator, time.Now()) // the end
	})
	return f
}

// take adds what an emulator shows now, unless that is as before.
func (f *Film) take(e *vt.Emulator, now time.Time) {
	f.cols, f.rows = e.Width(), e.Height()
	cursor := e.CursorPosition()
	st := still{at: now}
	same := len(f.stills) > 0
	for y := range f.rows {
		text := f.look.row(e, y)
		if y == cursor.Y {
			text += fmt.Sprintf("<rect%s class=\"text\" opacity=\"0.7\"/>\n", area(left(cursor.X), 0, cellWidth, cellHeight))
		}
		n := f.line(text)
		st.lines = append(st.lines, n)
		same = same && f.stills[len(f.stills)-1].lines[y] == n
	}
	if !same {
		f.stills = append(f.stills, st)
	}
}

// line is the number of a row that is kept; -1 if it is empty.
func (f *Film) line(text string) int {
	if text == "" {
		return -1
	}
	n, ok := f.lines[text]
	if !ok {
		n = len(f.kept)
		f.lines[text] = n
		f.kept = append(f.kept, text)
	}
	return n
}

// row draws a row as if it were the first.
func (p *palette) row(e *vt.Emulator, y int) string {
	var back, front strings.Builder
	for _, r := range runs(e, y) {
		p.draw(&back, &front, r, 0)
	}
	return back.String() + front.String()
}

// SVG returns the film as a picture that moves, over and over, and needs nothing
// else; for whoever prefers less motion it shows the end. It waits for the end
// of the film's context.
func (f *Film) SVG() string {
	f.over.Wait()
	times, all := f.times()
	var rows, stills, moves strings.Builder
	for i, text := range f.kept {
		fmt.Fprintf(&rows, "<g id=\"r%d\">\n%s</g>\n", i, text)
	}
	began := time.Duration(0)
	for i, st := range f.stills {
		percent := func(d time.Duration) float64 { return 100 * d.Seconds() / all.Seconds() }
		from, to := percent(began), percent(began+times[i])
		fmt.Fprintf(&moves, "@keyframes k%d { 0%% { visibility: hidden } %.3f%% { visibility: visible } %.3f%% { visibility: hidden } }\n#s%d { animation-name: k%d }\n", i, from, to, i, i)
		fmt.Fprintf(&stills, "<g id=\"s%d\" class=\"still\">\n", i)
		for y, n := range st.lines {
			if n >= 0 {
				fmt.Fprintf(&stills, "<use href=\"#r%d\" y=\"%g\"/>\n", n, top(y))
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
`, all.Seconds(), moves.String(), len(f.stills)-1)
	return svg(f.cols, f.rows, f.look, style, "<defs>\n"+rows.String()+"</defs>\n"+stills.String())
}

// times is how long each picture is shown: as it was, but for what is too short
// or too long to look at.
func (f *Film) times() (each []time.Duration, all time.Duration) {
	for i, st := range f.stills {
		d := ending
		if i+1 < len(f.stills) {
			d = min(max(f.stills[i+1].at.Sub(st.at), shortest), longest)
		}
		each, all = append(each, d), all+d
	}
	return each, all
}
