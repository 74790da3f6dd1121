package learn

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/charmbracelet/x/ansi"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// defaultShownLines is the default of Show.Lines.
const defaultShownLines = 40

// runShow shows what the controllers did, after the control plane has settled.
func (r *runner) runShow(ctx context.Context, s *Show) error {
	if r.replaying {
		return nil
	}
	if s.Held == "" {
		r.waitSettled(ctx)
	}
	var text, whole string
	var err error
	switch {
	case s.Trace != "":
		text, whole, err = r.showTrace(ctx, s)
	case s.Why != "":
		text, whole, err = r.showWhy(ctx, s)
	case s.Queues != nil:
		text, err = r.showQueues(ctx, s)
	case s.Activity != nil:
		text, err = r.showActivity(ctx, s)
	case s.Held != "":
		text, err = r.showHeldWrites(ctx, s)
	case s.Log != "":
		text, err = r.showLog(ctx, s)
	default:
		whole = r.substituteNamespace(s.Command)
		text, err = r.runShownCommand(ctx, s.Command)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return r.failPart(s.Line, "%w", err)
	}
	return r.printPaged(ctx, r.formatShown(s, text, whole))
}

// formatShown formats what is shown: a number of lines of a text, indented and cut to the
// width. command is the command line that shows all of it.
func (r *runner) formatShown(s *Show, text, command string) string {
	var b strings.Builder
	if s.Say != "" {
		b.WriteString(r.wrap("", "", r.renderInline(r.substituteNamespace(s.Say))) + "\n")
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	most := cmp.Or(s.Lines, defaultShownLines)
	isCut := len(lines) > most+1 // one line needs as much room as the note
	if isCut && (s.Trace != "" || s.Why != "") {
		most = cutBefore(lines, most)
	}
	if command != "" {
		b.WriteString("  " + r.faint("$ ") + r.bold(command) + "\n")
	}
	for i, l := range lines {
		if isCut && i == most {
			b.WriteString("  " + r.faint(fmt.Sprintf("and %d more lines", len(lines)-most)) + "\n")
			break
		}
		if width := r.Columns(); width > 4 {
			l = ansi.Truncate(l, width-3, r.Glyph("…", "~"))
		}
		b.WriteString(strings.TrimRight("  "+l, " ") + "\n")
	}
	return b.String() + "\n"
}

// continuation begins a line of a trace that continues the one above: it has no time.
var continuation = strings.Repeat(" ", 12)

// cutBefore returns at most how many lines to show such that the last one of these is not continued below.
func cutBefore(lines []string, most int) int {
	for n := most; 0 < n && n < len(lines); n-- {
		if !strings.HasPrefix(lines[n], continuation) {
			return n
		}
	}
	return most
}

// runShownCommand returns the output of a command, which has to succeed.
func (r *runner) runShownCommand(ctx context.Context, line string) (string, error) {
	var out bytes.Buffer
	shell := *r.shell
	shell.in = nil // it is not interactive
	code, err := shell.run(ctx, line, &out)
	if err == nil && code != 0 {
		err = failedCommand(line, code, out.String())
	}
	return out.String(), err
}

// showQueues returns the numbers of queues since the last Do or Act began.
func (r *runner) showQueues(ctx context.Context, s *Show) (string, error) {
	now, err := r.probe.snapshot(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "QUEUE\tCONTROLLER\tADDS\tSYNCS\tRETRIES\tDEPTH NOW")
	for _, name := range s.Queues {
		q, ok := findQueue(now, name)
		if !ok {
			return "", fmt.Errorf("unknown queue %q", name)
		}
		then, _ := findQueue(r.probe.before, name)
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\n", q.Name, q.Controller, q.Adds-then.Adds, q.Done-then.Done, retriesOf(q)-retriesOf(then), q.Depth)
	}
	err = w.Flush()
	return b.String(), err
}

// showActivity returns the writes of controllers since the last Do or Act began.
func (r *runner) showActivity(ctx context.Context, s *Show) (string, error) {
	var names []string
	for _, a := range s.Activity {
		name, err := r.plane.resolveController(a)
		if err != nil {
			return "", err
		}
		names = append(names, name)
	}
	q := observe.Query{Kinds: []observe.Kind{observe.KindCalled}, Notable: true}
	page, err := r.probe.recordsOfPart(ctx, q)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, rec := range page.Records {
		if slices.Contains(names, rec.Event.(*observe.Called).Controller) && r.shell.inLesson(rec.Event) {
			rec.Time = rec.Time.Local()
			b.WriteString(ui.FormatRecord(rec) + "\n")
		}
	}
	if b.Len() == 0 {
		return strings.Join(names, ", ") + " made no writes.", nil
	}
	return b.String(), nil
}

// showLog returns what a controller logged in its syncs since the last Do or Act began.
func (r *runner) showLog(ctx context.Context, s *Show) (string, error) {
	name, err := r.plane.resolveController(s.Log)
	if err != nil {
		return "", err
	}
	says := regexp.MustCompile(s.Says) // was compiled by readShow
	q := observe.Query{Kinds: []observe.Kind{observe.KindLogged}, Controller: name}
	page, err := r.probe.recordsOfPart(ctx, q)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, rec := range page.Records {
		l := rec.Event.(*observe.Logged)
		line := l.Message
		for _, a := range l.Attrs {
			line += "  " + a.Key + "=" + a.Value
		}
		if says.MatchString(line) && r.shell.inLesson(l) {
			b.WriteString(rec.Time.Local().Format("15:04:05.000") + "  " + line + "\n")
		}
	}
	if b.Len() == 0 {
		return name + " logged no such line.", nil
	}
	return b.String(), nil
}

// showHeldWrites returns the held writes of a controller.
func (r *runner) showHeldWrites(ctx context.Context, s *Show) (string, error) {
	name, err := r.plane.resolveController(s.Held)
	if err != nil {
		return "", err
	}
	list, err := r.plane.control.Interventions().HeldWrites(ctx, name, defaultShownLines)
	if err != nil {
		return "", err
	}
	if list.Total == 0 {
		return name + " holds no writes.", nil
	}
	var b strings.Builder
	for _, h := range list.Items {
		b.WriteString(h.String() + "\n")
	}
	if more := list.Total - len(list.Items); more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	return b.String(), nil
}
