package live

import (
	"context"
	"io"
	"os"
)

// guardOutput returns a writer that calls end on a write error, which bubbletea
// would ignore. A file stays a file, because bubbletea needs it for the terminal
// size.
func guardOutput(w io.Writer, end context.CancelCauseFunc) io.Writer {
	if f, ok := w.(*os.File); ok {
		return &guardedFile{f, guardedWriter{f, end}}
	}
	return &guardedWriter{w, end}
}

type guardedWriter struct {
	w      io.Writer
	cancel context.CancelCauseFunc
}

func (g *guardedWriter) Write(p []byte) (int, error) {
	n, err := g.w.Write(p)
	if err != nil {
		g.cancel(err)
	}
	return n, err
}

type guardedFile struct {
	*os.File
	out guardedWriter
}

func (g *guardedFile) Write(p []byte) (int, error) { return g.out.Write(p) }

func (g *guardedFile) WriteString(s string) (int, error) { return g.out.Write([]byte(s)) }
