package trace

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/internal/yamltext"
)

// Format is the output format of a trace.
type Format string

// The formats: for people, for programs, a web page with a sequence diagram, a Mermaid
// sequence diagram, Chrome's trace events, which Perfetto opens, and a line of the OTLP
// file format.
const (
	Text    Format = "text"
	JSON    Format = "json"
	YAML    Format = "yaml"
	HTML    Format = "html"
	Mermaid Format = "mermaid"
	Chrome  Format = "chrome"
	OTLP    Format = "otlp"
)

// Formats returns all formats.
func Formats() []Format { return []Format{Text, JSON, YAML, HTML, Mermaid, Chrome, OTLP} }

// Write writes the tree.
func (t *Tree) Write(w io.Writer, f Format, s Style) error {
	switch f {
	case Text:
		return t.writeText(w, s)
	case JSON, YAML:
		return writeData(w, t, f)
	}
	return t.writeDiagram(w, f)
}

// Write writes the chain. Diagrams show it in chronological order.
func (c *Chain) Write(w io.Writer, f Format, s Style) error {
	switch f {
	case Text:
		return c.writeText(w, s)
	case JSON, YAML:
		return writeData(w, c, f)
	}
	return c.Tree().writeDiagram(w, f)
}

func (t *Tree) writeDiagram(w io.Writer, f Format) error {
	switch f {
	case HTML:
		return t.writePage(w)
	case Mermaid:
		return t.writeMermaid(w)
	case Chrome:
		return t.writeChrome(w)
	case OTLP:
		return t.writeOTLP(w)
	}
	return fmt.Errorf("trace: unknown format %q", f)
}

// writeData writes a value as JSON or YAML.
func writeData(w io.Writer, v any, f Format) error {
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if f == YAML {
		if out, err = yamltext.FromJSON(out); err != nil {
			return err
		}
	} else {
		out = append(words.EscapeJSON(out), '\n')
	}
	_, err = w.Write(out)
	return err
}

// writeJSONLine writes a value as one line of JSON.
func writeJSONLine(w io.Writer, v any) error {
	out, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(words.EscapeJSON(out), '\n'))
	return err
}
