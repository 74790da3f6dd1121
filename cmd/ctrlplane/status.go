package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
	"github.com/ctrlplane/ctrlplane/ui"
	"github.com/ctrlplane/ctrlplane/ui/explain"
)

// statusCommand has the flags of "ctrlplane status".
type statusCommand struct {
	target *target
	output *outputFlag
	past   recordingFlags
}

// status is what "ctrlplane status" prints, as JSON.
type status struct {
	observe.Snapshot
	HotLoops      []assert.HotLoop          `json:"hotLoops,omitempty"`
	FailingWrites []trace.FailingWrite      `json:"failingWrites,omitempty"`
	FailedWrite   *observe.Called           `json:"failedWrite,omitempty"` // the last one of a client, of a recording of a control plane that was starting
	Unhealthy     []control.UnhealthyObject `json:"unhealthy,omitempty"`

	webhooks []string // as describeWebhooks
}

const statusHelp = `Show whether the control plane is ready and settled, then what fails, then the work
queues that have had work, the clients, and the controllers that are off, as the live
view does. The quantiles of WAIT and WORK are since the start; the view has those of
the last minute. Settled means that no key of a controller is queued, in progress or
due within a second, no write is in flight, every informer has caught up with the last
write, and nothing has been written, delivered or synced for a moment: 10 ms while the
process is idle, half a second otherwise and with --etcd-endpoints. With
--leader-elect, a control plane that waits for the lease is on standby, not settled.

What fails are keys, and controllers that have failed or were changed manually; the
namespaces that are being deleted, other deleted objects that wait for their
finalizers, and the Deployments whose rollout has exceeded its deadline, each with the
reason; Pods, Jobs and Nodes with a problem, of many those with different owners
first, and how many more there are: those of one owner with the same reason have one
row; objects that were created lately with an owner whose kind is not served; work
that repeats itself without an end, such as that of a controller whose update causes
its next sync; writes that an operator tries again and again and that fail; webhooks
that could not be called and were ignored; and that the operator of "ctrlplane dev"
has ended.
If namespaces, Deployments and the like cannot be read within 5 s, the rest is shown,
stderr says so, and the exit code is 1.

With --from it shows what a recording has: of "run --report" or of "up --record".
A recording has no objects. Of a control plane that was starting it shows the last
write of a client if that has failed.`

func newStatusCommand(t *target) *cobra.Command {
	c := &statusCommand{target: t, output: newOutput(outputWide, outputJSON, outputYAML)}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show once whether it is ready and settled, its work queues and its controllers",
		Long:  statusHelp,
		Example: `  ctrlplane status
  ctrlplane status -o wide
  ctrlplane status -o json | jq .process.settled
  ctrlplane status --from out/ --at 30s`,
		Args: rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	c.output.add(cmd)
	c.past.add(cmd.Flags())
	c.past.problems = true
	return cmd
}

func (c *statusCommand) run(ctx context.Context, out io.Writer) error {
	src, err := c.past.openOr(func() (observe.Source, error) { return c.target.controlClient() })
	if err != nil {
		return err
	}
	var s status
	if s.Snapshot, err = src.Snapshot(ctx); err != nil {
		return err
	}
	if s.HotLoops, err = assert.FindLoops(ctx, src, s.Time); err != nil {
		return err
	}
	if !c.past.given() {
		c.target.nameFields(ctx, s.HotLoops)
	}
	if s.FailingWrites, err = trace.FindFailingWrites(ctx, src, s.Snapshot); err != nil {
		return err
	}
	if err = trace.ExplainMissingStatus(ctx, src, &s.Snapshot); err != nil {
		return err
	}
	if c.past.given() && s.Process.State == observe.Starting {
		if s.FailedWrite, err = lastFailedWrite(ctx, src); err != nil {
			return err
		}
	}
	var unhealthyErr error // does not keep the rest from being shown
	if !c.past.given() && s.Process.State == observe.Ready {
		s.Unhealthy, unhealthyErr = c.findUnhealthy(ctx)
	}
	if !c.past.given() && c.output.format != outputJSON && c.output.format != outputYAML {
		s.webhooks = c.describeWebhooks(ctx, s)
	}
	if err := c.write(out, s); err != nil {
		return err
	}
	return unhealthyErr
}

// lastFailedWrite returns the last call of clients that write, if it has failed: it may have ended the start, as that of a
// manifest does.
func lastFailedWrite(ctx context.Context, src observe.Source) (*observe.Called, error) {
	page, err := src.Records(ctx, observe.Query{Kinds: []observe.Kind{observe.KindCalled}, Notable: true})
	for _, r := range slices.Backward(page.Records) {
		if c, ok := r.Event.(*observe.Called); ok && c.Client != nil && c.IsWrite() {
			if c.IsFailure() {
				return c, err
			}
			break
		}
	}
	return nil, err
}

// failedWriteLines says that a write has failed.
func failedWriteLines(c *observe.Called) []string {
	if c == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s failed to %s %s at %s: %s", c.Controller, c.Verb, c.Object, c.Began.Local().Format(time.TimeOnly), c.Error)}
}

// statusWidth is the number of columns for the tables of stdout. COLUMNS is that of the terminal on which another program shows them,
// such as watch.
func statusWidth() int {
	mode := ui.Detect(os.Stdout, os.Environ())
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); mode.Width == nil && err == nil && n > 0 {
		mode.Width = func() int { return n }
	}
	return mode.StatusWidth()
}

func (c *statusCommand) write(out io.Writer, s status) error {
	if done, err := c.output.writeObject(out, s); done {
		return err
	}
	width := statusWidth()
	trouble, err := c.formatTrouble(s, width)
	if err != nil {
		return err
	}
	return ui.WriteStatus(out, s.Snapshot, trouble, c.output.format == outputWide, width)
}

// formatTrouble says what is wrong besides clients and controllers: with objects, with work that repeats itself, and with writes and
// calls that fail.
func (c *statusCommand) formatTrouble(s status, width int) (string, error) {
	var b bytes.Buffer
	err := ui.WriteUnhealthy(&b, s.Unhealthy, s.Time, width)
	if len(s.Unhealthy) > 0 {
		err = errors.Join(err, printLines(&b, ui.MoreProblemLines(s.Snapshot, s.Unhealthy)))
	}
	failing := slices.Concat(ui.EndedOperatorLines(s.Snapshot), failedWriteLines(s.FailedWrite), ui.FailingWriteLines(s.FailingWrites), ui.IgnoredWebhookLines(s.Snapshot), s.webhooks, ui.UnreadMetricsLines(s.Snapshot))
	if len(s.HotLoops)+len(failing) > 0 {
		b.WriteString("\n")
	}
	err = errors.Join(err, c.target.printHotLoops(&b, s.HotLoops, width), printLines(&b, failing))
	return b.String(), err
}

// findUnhealthy returns the objects that wait for something that need not come by itself.
func (c *statusCommand) findUnhealthy(ctx context.Context) ([]control.UnhealthyObject, error) {
	ctx, cancel := withTimeout(ctx, unhealthyTimeout)
	defer cancel()
	client, err := c.target.controlClient()
	if err != nil {
		return nil, err
	}
	list, err := client.Unhealthy(ctx)
	if ctx.Err() != nil { // the control plane is not suspended: it has answered before
		return nil, fmt.Errorf("cannot look for unhealthy objects: %w: the rest is shown: try again", context.Cause(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot look for unhealthy objects: %w", err)
	}
	c.target.addFailedNodes(ctx, client.Nodes(), list)
	return list, nil
}

// unhealthyTimeout bounds the search for unhealthy objects.
const unhealthyTimeout = 5 * time.Second

func printLines(out io.Writer, lines []string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, words.OneLine(line)); err != nil {
			return err
		}
	}
	return nil
}

func (t *target) nameFields(ctx context.Context, loops []assert.HotLoop) {
	if cfg, err := t.restConfig(); err == nil {
		nameFields(ctx, cfg, loops)
	}
}

// printHotLoops prints work that repeats itself in width columns, or in a line each if that is 0, and which page explains the first
// built-in controller among it.
func (t *target) printHotLoops(out io.Writer, loops []assert.HotLoop, width int) error {
	explanation := ""
	for _, l := range loops {
		lines := []string{"hot loop: " + l.String()}
		if width > 0 {
			lines = words.WrapLead(lines[0], "", "  ", width, utf8.RuneCountInString)
		}
		if _, err := fmt.Fprintln(out, strings.Join(lines, "\n")); err != nil {
			return err
		}
		if page, ok := explain.FindPage(l.Controller); ok && explanation == "" {
			explanation = fmt.Sprintf("%s says how that controller works and what its failures look like\n", t.quoteCommand("explain "+quoteWord(page.ShortName())))
		}
	}
	_, err := io.WriteString(out, explanation)
	return err
}
