package learn

import (
	"context"
	"errors"
	"fmt"
)

const helpText = `What you can type:

- any command: runs it in a shell; with "&" at the end, in the background
- ` + "`hint`" + `: shows a hint; after the last one, the solution
- ` + "`check`" + `, or Enter: shows what is still missing
- ` + "`skip`" + `: runs the solution for you; sets up the lesson again if that is necessary
- ` + "`view`" + `: opens the live view; ` + "`q`" + ` closes it
- ` + "`page`" + `: prints another link to the page of ` + "`--web`" + `
- ` + "`stop`" + `: stops background commands
- ` + "`shell`" + `: shows how to continue in another shell
%s

Tab completes commands. Ctrl-C clears the line; at an empty prompt, and while the
lesson waits, it asks whether to leave.
`

// leaveHelp says how to leave the lesson and how to continue it.
func (r *runner) leaveHelp() string {
	text := "- `quit` or `exit`: leaves the lesson"
	if r.lesson.CanResume(r.step) {
		text += "; `" + r.Resume + "` continues it"
	}
	return text
}

// shellPrompt is the prompt for commands.
func (r *runner) shellPrompt() string { return r.code(r.shell.namespace) + " $ " }

// handleGeneral handles a line that can be typed at any prompt. It runs unknown lines in
// a shell, and reports whether the line was a known one.
func (r *runner) handleGeneral(ctx context.Context, line string) (bool, error) {
	switch line {
	case "help", "?":
		r.printf("%s\n", r.renderMarkdown(fmt.Sprintf(helpText, r.leaveHelp())))
	case "quit", "exit":
		return true, errReaderLeft
	case "shell":
		r.printf("  %s\n", r.code(envCommand(r.tools.Join(envFile))))
	case "page":
		r.printPageLink()
	case "view":
		return true, r.runForeground(ctx, "ctrlplane top")
	default:
		return false, r.runForeground(ctx, line)
	}
	return true, nil
}

// printPageLink prints a link to the page. One that was used opens it no more, so there is another one for a
// browser that was closed.
func (r *runner) printPageLink() {
	if r.Page == nil {
		r.printf("%s\n", r.renderMarkdown("This lesson has no page: begin it with `--web`."))
		return
	}
	r.printf("Page, can be opened once:\n  %s\n", r.code(r.Page()))
}

// runForeground runs a command of the reader, whose failure is not an error of the
// lesson.
func (r *runner) runForeground(ctx context.Context, line string) error {
	defer r.Interrupts.beginCommand()()
	code, err := r.executeLine(ctx, line, r.Out)
	r.exitCode = code
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	return r.requireNamespace(ctx)
}

// waitForEnd waits until the reader at a terminal wants the lesson's objects to be deleted.
func (r *runner) waitForEnd(ctx context.Context) error {
	if r.tty == nil {
		return nil
	}
	r.printf("\n%s", r.renderMarkdown("Its namespace `"+r.shell.namespace+"` is still there: look around as long as you like."))
	err := r.waitWithPrompt(ctx, "Press Enter to delete it. ")
	if errors.Is(err, errReaderLeft) || errors.Is(err, errNamespaceDeleted) { // it is complete
		return nil
	}
	return err
}

// waitForEnter waits until the reader presses Enter, and runs commands in the meantime.
func (r *runner) waitForEnter(ctx context.Context, prompt string) error {
	if r.Auto || r.replaying {
		return nil
	}
	return r.waitWithPrompt(ctx, prompt)
}

func (r *runner) waitWithPrompt(ctx context.Context, prompt string) error {
	for {
		line, err := r.readCommandLine(ctx, r.faint(prompt)+r.shellPrompt())
		if err != nil || line == "" || line == "next" || line == "skip" {
			return err
		}
		if line == "check" || line == "hint" {
			r.printf("%s\n", r.faint("This part has no task: press Enter."))
			continue
		}
		if _, err := r.handleGeneral(ctx, line); err != nil {
			return err
		}
	}
}
