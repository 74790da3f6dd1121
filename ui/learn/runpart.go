package learn

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// runPart runs a part of a step.
func (r *runner) runPart(ctx context.Context, p Part) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch p := p.(type) {
	case Prose:
		if !r.replaying {
			return r.printPaged(ctx, r.renderMarkdown(r.substituteNamespace(p.Text))+"\n")
		}
	case *Code:
		return r.runCode(ctx, p)
	case *Do:
		return r.runDo(ctx, p)
	case *Act:
		return r.runAct(ctx, p)
	case *Show:
		return r.runShow(ctx, p)
	case *Ask:
		return r.askQuestion(ctx, p)
	}
	return nil
}

// substituteNamespace replaces $NS by the lesson's namespace.
func (r *runner) substituteNamespace(text string) string {
	return strings.ReplaceAll(text, "$NS", r.shell.namespace)
}

// runCode shows a listing, and writes it to its file.
func (r *runner) runCode(ctx context.Context, c *Code) error {
	if !r.replaying {
		shown := *c
		if c.File != "" {
			shown.Text = r.substituteNamespace(c.Text)
		}
		if err := r.printPaged(ctx, r.renderCode(&shown)+"\n"); err != nil {
			return err
		}
	}
	if c.File == "" {
		return nil
	}
	mode := os.FileMode(0o600)
	if strings.HasPrefix(c.Text, "#!") {
		mode = 0o700
	}
	return os.WriteFile(filepath.Join(r.shell.dir, c.File), []byte(r.substituteNamespace(c.Text)+"\n"), mode)
}
