package learn

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// run does what the lesson does itself.
func (r *runner) run(ctx context.Context, p *Act) error {
	if err := r.probe.begin(ctx); err != nil {
		return err
	}
	if p.Say != "" && !r.quiet {
		r.printf("%s\n", r.wrap(r.mark("▸ ", "> "), "  ", r.inline(r.named(p.Say))))
	}
	if err := r.commands(ctx, p.Run, p.Line); err != nil {
		return err
	}
	return r.hold(ctx, p.Until, p.Within)
}

// commands runs command lines that have to succeed.
func (r *runner) commands(ctx context.Context, lines Commands, at int) error {
	for _, l := range lines {
		var failed strings.Builder
		out := io.Writer(&failed)
		if !r.quiet {
			r.printf("  %s\n", r.faint("$ ")+r.strong(r.short(l)))
			out = &indented{w: r.out, rest: &failed}
		}
		code, err := r.execute(ctx, l, out)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fmt.Errorf("line %d: %q: %w", at, l, err)
		case code != 0:
			return fmt.Errorf("line %d: %q has failed with code %d: %s", at, l, code, lastLine(failed.String()))
		}
	}
	if len(lines) > 0 && !r.quiet {
		r.printf("\n")
	}
	return nil
}

// short is a command line as it is shown: scripts of several lines are not.
func (r *runner) short(l string) string {
	first, _, more := strings.Cut(strings.TrimSpace(l), "\n")
	if more {
		return first + " …"
	}
	return first
}

// execute runs a command line, in the background if "&" ends it; "stop" ends
// what runs there.
func (r *runner) execute(ctx context.Context, l string, out io.Writer) (int, error) {
	if l == "stop" {
		r.shell.stop()
		return 0, nil
	}
	line, background := strings.CutSuffix(strings.TrimSpace(l), "&")
	if !background || strings.HasSuffix(line, "&") {
		return r.shell.run(ctx, l, out)
	}
	j, err := r.shell.background(strings.TrimSpace(line))
	if err != nil {
		return 0, err
	}
	_, err = fmt.Fprintf(out, "It runs by itself until you type \"stop\" or leave; what it writes is in %s.\n", j.log)
	return 0, err
}

// hold waits until checks hold, and says that they do.
func (r *runner) hold(ctx context.Context, list []*Check, limit time.Duration) error {
	if len(list) == 0 {
		return nil
	}
	if limit == 0 {
		limit = within
	}
	out, err := r.probe.await(ctx, list, limit)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case len(out) > 0:
		return fmt.Errorf("line %d: this does not hold after %v: %s", out[0].check.Line, limit, out[0])
	}
	r.praise(list)
	return nil
}

// praise tells which checks hold.
func (r *runner) praise(list []*Check) {
	if r.quiet || len(list) == 0 {
		return
	}
	said := false
	for _, c := range list {
		if c.Say != "" {
			r.printf("%s", r.wrap(r.good(r.mark("✓", "ok"))+" ", "  ", r.inline(r.named(c.Say))))
			said = true
		}
	}
	if !said {
		r.printf("%s\n", r.good(r.mark("✓", "ok"))+" Done.")
	}
	r.printf("\n")
}

// indented writes what comes two columns to the right, and keeps it.
type indented struct {
	w      io.Writer
	rest   *strings.Builder
	inside bool // of a line
}

func (i *indented) Write(p []byte) (int, error) {
	i.rest.Write(p)
	var b strings.Builder
	for _, l := range strings.SplitAfter(string(p), "\n") {
		if l != "" && !i.inside {
			b.WriteString("  ")
		}
		b.WriteString(l)
		if l != "" {
			i.inside = !strings.HasSuffix(l, "\n")
		}
	}
	if _, err := io.WriteString(i.w, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
