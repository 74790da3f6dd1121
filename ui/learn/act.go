package learn

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/sleep"
)

// runAct does what the lesson does automatically.
func (r *runner) runAct(ctx context.Context, p *Act) error {
	if err := r.probe.markStart(ctx); err != nil {
		return err
	}
	if p.Say != "" && !r.replaying {
		text := r.wrap(r.Glyph("▸ ", "> "), "  ", r.renderInline(r.substituteNamespace(p.Say)))
		if err := r.printPaged(ctx, text+"\n"); err != nil {
			return err
		}
	}
	if err := r.runCommands(ctx, p.Run, p.Line); err != nil {
		return err
	}
	return r.requireChecks(ctx, p.Until, p.Within)
}

// runCommands runs command lines; each has to succeed.
func (r *runner) runCommands(ctx context.Context, lines Commands, at int) error {
	for _, l := range lines {
		var failed strings.Builder
		out := io.Writer(&failed)
		if !r.replaying {
			r.printf("  %s\n", r.faint("$ ")+r.bold(r.firstLine(l)))
			out = &indentWriter{w: printWriter{r.console}, copy: &failed}
		}
		told := func() bool { return false }
		if r.replaying {
			told = r.sayIfSlow("Running `" + r.firstLine(l) + "` …")
		}
		code, err := r.executeLine(ctx, l, out)
		told()
		if code != 0 {
			sleep.For(ctx, interruptGrace) // the command may have received an interrupt first
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return r.failPart(at, "%q: %w", l, err)
		case code != 0:
			return r.failPart(at, "%w", failedCommand(l, code, failed.String()))
		}
	}
	if len(lines) > 0 && !r.replaying {
		r.printf("\n")
	}
	return nil
}

// firstLine is what is shown of a command line: the first line of a script.
func (r *runner) firstLine(l string) string {
	first, _, more := strings.Cut(strings.TrimSpace(l), "\n")
	if more {
		return first + " …"
	}
	return first
}

// executeLine runs a command line, in the background if it ends with "&". The line
// "stop" stops all background commands.
func (r *runner) executeLine(ctx context.Context, l string, out io.Writer) (int, error) {
	if l == "stop" {
		r.shell.stopJobs()
		return 0, nil
	}
	line, background := strings.CutSuffix(strings.TrimSpace(l), "&")
	if !background || strings.HasSuffix(line, "&") {
		return r.shell.run(ctx, l, out)
	}
	j, err := r.shell.startJob(strings.TrimSpace(line))
	if err != nil {
		return 0, err
	}
	_, err = fmt.Fprintf(out, "Running in the background until you type \"stop\" or leave. Its output is in %s.\n", j.log)
	return 0, err
}

// requireChecks waits until checks hold, and prints them.
func (r *runner) requireChecks(ctx context.Context, list []*Check, limit time.Duration) error {
	if len(list) == 0 {
		return nil
	}
	if limit == 0 {
		limit = defaultWithin
	}
	began := time.Now()
	out, err := r.probe.awaitWhileWorking(ctx, list, limit, r.newAwaited(limit).tellIfSlow)
	limit = time.Since(began).Round(limit)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case len(out) > 0:
		r.printInterventions(r.lastingInterventions(ctx))
		if !r.Auto {
			return r.failPart(out[0].check.Line, "the wait ended after %v: %s", limit, strings.TrimSuffix(out[0].plain(r.substituteNamespace), "."))
		}
		return r.failPart(out[0].check.Line, "a check does not hold after %v: %s", limit, out[0])
	}
	r.printPassed(list)
	return nil
}

// printPassed prints what it means that the checks hold.
func (r *runner) printPassed(list []*Check) {
	if r.replaying || len(list) == 0 {
		return
	}
	printed := false
	for _, c := range list {
		if c.Say != "" {
			r.printf("%s", r.wrap(r.good(r.Glyph("✓", "ok"))+" ", "  ", r.renderInline(r.substituteNamespace(c.Say))))
			printed = true
		}
	}
	if !printed {
		r.printf("%s\n", r.good(r.Glyph("✓", "ok"))+" Done.")
	}
	r.printf("\n")
}

// indentWriter indents its input by two columns, and keeps a copy.
type indentWriter struct {
	w       io.Writer
	copy    *strings.Builder
	midLine bool // the last write did not end a line
}

func (i *indentWriter) Write(p []byte) (int, error) {
	i.copy.Write(p)
	var b strings.Builder
	for _, l := range strings.SplitAfter(string(p), "\n") {
		if l != "" && !i.midLine {
			b.WriteString("  ")
		}
		b.WriteString(l)
		if l != "" {
			i.midLine = !strings.HasSuffix(l, "\n")
		}
	}
	if _, err := io.WriteString(i.w, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// failedCommand says that a command line failed, and the last line that it has printed.
func failedCommand(line string, code int, output string) error {
	err := fmt.Errorf("%q failed with exit code %d", line, code)
	if last := lastLine(output); last != "" {
		return fmt.Errorf("%w: %s", err, last)
	}
	return err
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
