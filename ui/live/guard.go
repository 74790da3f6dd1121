package live

import (
	"context"
	"io"
	"os"
)

// guard ends the view when the terminal takes no more output, which bubbletea
// would not notice. What is given a file stays one to bubbletea, which asks it
// for its size.
func guard(w io.Writer, end context.CancelCauseFunc) io.Writer {
	if f, ok := w.(*os.File); ok {
		return &guardedFile{f, guarded{f, end}}
	}
	return &guarded{w, end}
}

type guarded struct {
	w   io.Writer
	end context.CancelCauseFunc
}

func (g *guarded) Write(p []byte) (int, error) {
	n, err := g.w.Write(p)
	if err != nil {
		g.end(err)
	}
	return n, err
}

type guardedFile struct {
	*os.File
	guarded guarded
}

func (g *guardedFile) Write(p []byte) (int, error) { return g.guarded.Write(p) }

func (g *guardedFile) WriteString(s string) (int, error) { return g.guarded.Write([]byte(s)) }
