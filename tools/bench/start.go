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

// bootStep is a line of "up --ui json" about a stage of the start.
type bootStep struct {
	Kind  string
	Time  time.Time // when the stage ended
	Step  string
	Took  time.Duration `json:"tookNanos"`
	Error string
}

func (s bootStep) began() time.Time { return s.Time.Add(-s.Took) }

// The steps that "up --timings" adds; both begin with the process.
const (
	totalStep   = "start"
	processStep = "process"
)

// startProfile has the stages of one start.
type startProfile struct {
	version string
	steps   []bootStep // by their begin, without the total
	total   bootStep
	cpu     time.Duration // 0 = not supported by the system
}

// runStartProfile starts a control plane with an empty folder, as a user does, and draws
// the stages.
func runStartProfile(ctx context.Context, o options, stdout io.Writer) error {
	o.only, o.parts = "ctrlplane", []string{"start"} // prepareBinaries builds only what these need
	if err := o.prepareBinaries(ctx, io.Discard); err != nil {
		return err
	}
	described, err := o.newResults(ctx)
	if err != nil {
		return err
	}
	var profile *startProfile
	err = inWorkDir("start", func(r *workDir) (err error) {
		profile, err = o.takeStartProfile(ctx, r)
		return err
	})
	if err != nil {
		return err
	}
	profile.version = described.Versions["ctrlplane"]
	if err := os.WriteFile(o.svg, []byte(profile.drawTimeline()), 0o644); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, profile.formatCaption()); err != nil || o.doc == "" {
		return err
	}
	return insertSection(o.doc, "start", fmt.Sprintf("![The stages of one start](%s)\n\n%s", filepath.Base(o.svg), profile.formatCaption()))
}

func (o options) takeStartProfile(ctx context.Context, r *workDir) (*startProfile, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close() // it was only read
	cmd := r.command(o.ctrlplane, "up", "--data-dir", r.join("data"), "--log-file", r.log.Name(), "--ui", "json", "--timings")
	cmd.Stdout = in
	p := &controlPlane{certs: func() string { return r.join("data", "pki") }}
	err = p.start(cmd)
	in.Close() // the child process has its own copy
	if err != nil {
		return nil, err
	}
	defer p.kill()
	var got *startProfile
	err = p.whileRunning(ctx, startTimeout, func(ctx context.Context) error {
		// The end of the process, or of the wait, interrupts the read.
		defer context.AfterFunc(ctx, func() { _ = out.SetReadDeadline(time.Now()) })()
		if got, err = readStartProfile(out); err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if got.cpu, err = p.cpuUsed(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // keeps the pipe from filling up; ends with the process
	_, err = p.stop(ctx)
	return got, err
}

// readStartProfile reads lines until the step for the total.
func readStartProfile(from io.Reader) (*startProfile, error) {
	p := &startProfile{}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20) // a snapshot is one line
	for lines.Scan() {
		var s bootStep
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("%.100q: %w", lines.Text(), err)
		}
		switch {
		case s.Kind != "bootStep":
		case s.Step == totalStep:
			p.total = s
			p.sortSteps()
			return p, nil
		default:
			p.steps = append(p.steps, s)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return nil, errors.New("the output has no step for the total: is --timings supported?")
}

func (p *startProfile) sortSteps() {
	for i, s := range p.steps {
		if s.Step == processStep { // it is reported late
			p.steps[i].Time = p.total.began().Add(s.Took)
		}
	}
	slices.SortStableFunc(p.steps, func(a, b bootStep) int { return a.began().Compare(b.began()) })
}

func (p *startProfile) formatCaption() string {
	text := fmt.Sprintf("One start of %s with an empty data folder and one node: %d ms from the begin of the process until ready", p.version, p.total.Took.Milliseconds())
	if p.cpu > 0 {
		text += fmt.Sprintf(", %d ms of CPU", p.cpu.Milliseconds())
	}
	return text + "."
}

// drawTimeline draws a bar for each stage over time.
func (p *startProfile) drawTimeline() string {
	const row, top, left, width = 26.0, 78.0, 130.0, 560.0
	height := row * float64(len(p.steps))
	pic := newSVGPicture(760, int(top+height+34), "Stages of a start")
	pic.drawText(20, 46, "start", p.formatCaption(), "")
	ticks := axisTicks(float64(p.total.Took.Milliseconds()))
	x := func(ms float64) float64 { return left + width*ms/ticks[len(ticks)-1] }
	for _, ms := range ticks {
		pic.drawRule(x(ms), top-8, x(ms), top+height)
		pic.drawText(x(ms), top+height+18, "middle", fmt.Sprintf("%.0f ms", ms), "")
	}
	for i, s := range p.steps {
		y := top + row*float64(i)
		from, took := toMillis(s.began().Sub(p.total.began())), toMillis(s.Took)
		pic.drawText(left-10, y+13, "end", s.Step, "")
		pic.drawRect(x(from), y, max(x(from+took)-x(from), 1.5), row-8, seriesColors[i%len(seriesColors)])
		label, anchor, at := fmt.Sprintf("%.0f ms", took), "start", x(from+took)+6
		if at > left+width-40 {
			anchor, at = "end", x(from)-6
		}
		pic.drawText(at, y+13, anchor, label, "")
	}
	return pic.String()
}

func toMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
