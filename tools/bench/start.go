package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// bootStep is a line of "up --ui json" that tells of a stage of the start.
type bootStep struct {
	Kind  string
	Time  time.Time // of its end
	Step  string
	Took  time.Duration `json:"tookNanos"`
	Error string
}

func (s bootStep) begin() time.Time { return s.Time.Add(-s.Took) }

// The steps that "up --timings" adds; both begin with the process.
const (
	wholeStep   = "start"
	processStep = "process"
)

// profile is what is known of one start.
type profile struct {
	version string
	steps   []bootStep // in order of their begin, without the whole
	whole   bootStep
	cpu     time.Duration // 0 = the system does not tell
}

// drawStart starts a control plane as a user does, on an empty folder, and draws
// its stages.
func drawStart(ctx context.Context, o options, stdout io.Writer) error {
	o.only, o.parts = "ctrlplane", []string{"start"} // who is prepared for
	if err := o.prepare(ctx, io.Discard); err != nil {
		return err
	}
	described, err := o.describe(ctx)
	if err != nil {
		return err
	}
	parent, err := os.MkdirTemp("", "ctrlplane-bench-")
	if err != nil {
		return err
	}
	r, err := newRoom(parent, "start")
	if err != nil {
		return err
	}
	profile, err := o.profileStart(ctx, r)
	if err != nil {
		return fmt.Errorf("start: %w: see %s", err, r.log.Name())
	}
	if err := errors.Join(r.close(), os.RemoveAll(parent)); err != nil {
		return err
	}
	profile.version = described.Versions["ctrlplane"]
	if err := os.WriteFile(o.svg, []byte(profile.draw()), 0o644); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, profile.caption()); err != nil || o.doc == "" {
		return err
	}
	return insert(o.doc, "start", fmt.Sprintf("![The stages of one start](%s)\n\n%s", filepath.Base(o.svg), profile.caption()))
}

func (o options) profileStart(ctx context.Context, r *room) (*profile, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close() // only read
	cmd := r.command(o.ctrlplane, "up", "--data-dir", r.join("data"), "--log-file", r.log.Name(), "--ui", "json", "--timings")
	cmd.Stdout = in
	p := &plane{certs: func() string { return r.join("data", "pki") }}
	err = p.start(cmd)
	in.Close() // the child has its own
	if err != nil {
		return nil, err
	}
	defer p.kill()
	var got *profile
	err = p.within(ctx, startTimeout, func(ctx context.Context) error {
		// The end of the process, or of the wait, ends the read.
		defer context.AfterFunc(ctx, func() { _ = out.SetReadDeadline(time.Now()) })()
		if got, err = readProfile(out); err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if got.cpu, err = p.cpu(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	go io.Copy(io.Discard, out) // it must be able to go on writing; ends with it
	_, err = p.stop(ctx)
	return got, err
}

// readProfile reads lines until the one that tells of the whole start.
func readProfile(from io.Reader) (*profile, error) {
	p := &profile{}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20) // a snapshot is one line
	for lines.Scan() {
		var s bootStep
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("%.100q: %w", lines.Text(), err)
		}
		switch {
		case s.Kind != "bootStep":
		case s.Step == wholeStep:
			p.whole = s
			p.sort()
			return p, nil
		default:
			p.steps = append(p.steps, s)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return nil, errors.New("it ended without a word on its start: does it know --timings?")
}

func (p *profile) sort() {
	for i, s := range p.steps {
		if s.Step == processStep { // told later than it was
			p.steps[i].Time = p.whole.begin().Add(s.Took)
		}
	}
	slices.SortStableFunc(p.steps, func(a, b bootStep) int { return a.begin().Compare(b.begin()) })
}

func (p *profile) caption() string {
	text := fmt.Sprintf("One start of %s on an empty data folder, with one node: %d ms from the begin of the process until ready", p.version, p.whole.Took.Milliseconds())
	if p.cpu > 0 {
		text += fmt.Sprintf(", %d ms of CPU", p.cpu.Milliseconds())
	}
	return text + "."
}

// draw is the picture: a bar a stage, over time.
func (p *profile) draw() string {
	const row, top, left, width = 26.0, 78.0, 130.0, 560.0
	height := row * float64(len(p.steps))
	pic := newPicture(760, int(top+height+34), "Where the time of a start goes")
	pic.text(20, 46, "start", p.caption(), "")
	ticks := scale(float64(p.whole.Took.Milliseconds()))
	x := func(ms float64) float64 { return left + width*ms/ticks[len(ticks)-1] }
	for _, ms := range ticks {
		pic.rule(x(ms), top-8, x(ms), top+height)
		pic.text(x(ms), top+height+18, "middle", fmt.Sprintf("%.0f ms", ms), "")
	}
	for i, s := range p.steps {
		y := top + row*float64(i)
		from, took := millis(s.begin().Sub(p.whole.begin())), millis(s.Took)
		pic.text(left-10, y+13, "end", s.Step, "")
		pic.rect(x(from), y, max(x(from+took)-x(from), 1.5), row-8, colors[i%len(colors)])
		label, anchor, at := fmt.Sprintf("%.0f ms", took), "start", x(from+took)+6
		if at > left+width-40 {
			anchor, at = "end", x(from)-6
		}
		pic.text(at, y+13, anchor, label, "")
	}
	return pic.String()
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
