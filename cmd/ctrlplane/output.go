package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/internal/yamltext"
)

// Values of --output that mean the same for every verb that has them. Without the flag the
// output is a table or a text for people.
const (
	outputWide = "wide" // all columns
	outputJSON = "json"
	outputYAML = "yaml"
	outputName = "name" // one name per line
)

// outputFlag is the flag -o of a verb. A format that the verb does not have is refused
// when the command line is read.
type outputFlag struct {
	format  string
	formats []string
}

// newListOutput is the flag of a verb that lists things.
func newListOutput() *outputFlag { return newOutput(outputWide, outputJSON, outputYAML, outputName) }

// newObjectOutput is the flag of a verb that prints something else.
func newObjectOutput() *outputFlag { return newOutput(outputJSON, outputYAML) }

func newOutput(formats ...string) *outputFlag { return &outputFlag{formats: formats} }

func (o *outputFlag) add(cmd *cobra.Command) {
	cmd.Flags().VarP(o, outputFlagName, "o", "output format: "+words.Or(o.formats))
}

const outputFlagName = "output"

// Set implements [pflag.Value].
func (o *outputFlag) Set(format string) error {
	if format != "" && !slices.Contains(o.formats, format) { // empty: see rejectEmptyFlags
		return &unknownFormatError{fmt.Sprintf("unknown format %q: use %s, or leave it out", format, words.Or(o.formats))}
	}
	o.format = format
	return nil
}

func (o *outputFlag) String() string { return o.format }

// Type implements [pflag.Value].
func (o *outputFlag) Type() string { return "string" }

// unknownFormatError needs no hint at the help of the verb: it has all formats.
type unknownFormatError struct{ text string }

func (e *unknownFormatError) Error() string { return e.text }

// writeList writes the list, or the names of its items, and reports whether it has: not if
// a table is wanted.
func writeList[T any](o *outputFlag, out io.Writer, list any, items []T, name func(T) string) (done bool, err error) {
	if o.format != outputName {
		return o.writeObject(out, list)
	}
	for _, item := range items {
		if _, err := fmt.Fprintln(out, words.OneLine(name(item))); err != nil {
			return true, err
		}
	}
	return true, nil
}

// writeObject writes v as JSON or YAML, and reports whether it has.
func (o *outputFlag) writeObject(out io.Writer, v any) (done bool, err error) {
	switch o.format {
	case outputJSON:
		text, err := json.MarshalIndent(v, "", "  ")
		if err == nil {
			_, err = fmt.Fprintf(out, "%s\n", words.EscapeJSON(text))
		}
		return true, err
	case outputYAML:
		text, err := yamltext.Marshal(v)
		if err == nil {
			_, err = out.Write(text)
		}
		return true, err
	}
	return false, nil
}

// newListVerb returns the verb "list", which prints what the verb above it prints.
func newListVerb(t *target, of, short string, list func(*cobra.Command, *target, *outputFlag) error) *cobra.Command {
	output := newListOutput()
	cmd := &cobra.Command{
		Use:     "list",
		Short:   short,
		Example: fmt.Sprintf("  ctrlplane %[1]s list\n  ctrlplane %[1]s list -o wide", of),
		Args:    rejectArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return list(cmd, t, output) },
	}
	output.add(cmd)
	return cmd
}
