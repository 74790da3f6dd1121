package learn

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// part does a piece of a step.
func (r *runner) part(ctx context.Context, p Part) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch p := p.(type) {
	case Prose:
		if !r.quiet {
			r.printf("%s\n", r.markdown(r.named(p.Text)))
		}
	case *Code:
		return r.codePart(p)
	case *Do:
		return r.do(ctx, p)
	case *Act:
		return r.run(ctx, p)
	case *Show:
		return r.show(ctx, p)
	case *Ask:
		return r.question(ctx, p)
	}
	return nil
}

// named puts the lesson's namespace in place of $NS.
func (r *runner) named(text string) string { return strings.ReplaceAll(text, "$NS", r.shell.namespace) }

// codePart shows a listing, and writes its file.
func (r *runner) codePart(c *Code) error {
	if !r.quiet {
		shown := *c
		if c.File != "" {
			shown.Text = r.named(c.Text)
		}
		r.printf("%s\n", r.listing(&shown))
	}
	if c.File == "" {
		return nil
	}
	mode := os.FileMode(0o600)
	if strings.HasPrefix(c.Text, "#!") {
		mode = 0o700
	}
	return os.WriteFile(filepath.Join(r.shell.dir, c.File), []byte(r.named(c.Text)+"\n"), mode)
}
