package learn

import (
	"context"
	"path/filepath"
	"time"
)

// interruptGrace is how long after its end an interrupt is still a command's: the
// terminal sends it to both, and the command may be gone before we hear of it.
const interruptGrace = 200 * time.Millisecond

const helpText = `What you can type:

- any command: it runs in a shell; with "&" at its end it runs on by itself
- ` + "`hint`" + `: a hint; after the last one, what does it
- ` + "`check`" + `, or Enter: what is still missing
- ` + "`skip`" + `: have it done
- ` + "`view`" + `: the live view; ` + "`q`" + ` comes back
- ` + "`stop`" + `: end what runs by itself
- ` + "`shell`" + `: what to say in another shell to be here
- ` + "`quit`" + `: leave; "ctrlplane learn --resume" goes on
`

// prompt is what stands before what the reader types.
func (r *runner) prompt() string { return r.code(r.shell.namespace) + " $ " }

// handleGeneral obeys what can be typed anywhere: what it does not know it runs, in a
// shell. It says whether the line was one that runs nothing.
func (r *runner) handleGeneral(ctx context.Context, line string) (bool, error) {
	switch line {
	case "help", "?":
		r.printf("%s\n", r.renderMarkdown(helpText))
	case "quit", "exit":
		return true, errReaderLeft
	case "shell":
		r.printf("  %s\n", r.code(envCommand(filepath.Join(r.toolsDir, envFile))))
	case "view":
		return true, r.runForeground(ctx, "ctrlplane top")
	default:
		return false, r.runForeground(ctx, line)
	}
	return true, nil
}

// runForeground runs what the reader has typed; that it fails is theirs to see.
func (r *runner) runForeground(ctx context.Context, line string) error {
	if r.Foreground != nil {
		r.Foreground.Add(1)
		defer time.AfterFunc(interruptGrace, func() { r.Foreground.Add(-1) })
	}
	_, err := r.executeLine(ctx, line, r.out)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// waitForEnter waits until the reader wants to go on; commands may be run meanwhile.
func (r *runner) waitForEnter(ctx context.Context) error {
	if r.Auto || r.replaying {
		return nil
	}
	for {
		line, err := r.readLine(ctx, r.faint("Enter goes on ")+r.prompt())
		if err != nil || line == "" || line == "next" || line == "skip" {
			return err
		}
		if _, err := r.handleGeneral(ctx, line); err != nil {
			return err
		}
	}
}
