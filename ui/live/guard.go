package live

import (
	"context"
	"io"
	"os"
)

// guardOutput ends the view when the terminal takes no more output, which bubbletea
// would not notice. What is given a file stays one to bubbletea, which asks it
// for its size.
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
