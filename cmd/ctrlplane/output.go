package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/internal/yamltext"
)

// Values of --output that mean the same for every verb that has them. Empty is a table
// or a text for people.
const (
	outputWide = "wide" // all columns
	outputJSON = "json"
	outputYAML = "yaml"
	outputName = "name" // one name per line
)

// outputFlag is the flag -o of a verb.
type outputFlag struct {
	format  string
	formats []string
}

// newListOutput is the flag of a verb that lists things.
func newListOutput() *outputFlag {
	return &outputFlag{formats: []string{outputWide, outputJSON, outputYAML, outputName}}
}

// newObjectOutput is the flag of a verb that prints something else.
func newObjectOutput() *outputFlag {
	return &outputFlag{formats: []string{outputJSON, outputYAML}}
}

func (o *outputFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "output format: "+o.choices())
	// It only fails for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(o.formats, cobra.ShellCompDirectiveNoFileComp))
}

// choices is "wide, json or yaml".
func (o *outputFlag) choices() string {
	last := len(o.formats) - 1
	return strings.Join(o.formats[:last], ", ") + " or " + o.formats[last]
}

func (o *outputFlag) validate() error {
	if o.format == "" || slices.Contains(o.formats, o.format) {
		return nil
	}
	return usage.Errorf("--output: unknown format %q: use %s, or leave it out", o.format, o.choices())
}

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
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return true, enc.Encode(v)
	case outputYAML:
		text, err := yamltext.Marshal(v)
		if err == nil {
			_, err = out.Write(text)
		}
		return true, err
	}
	return false, nil
}
