package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// flagHint is the error of a flag's value that says what to do.
type flagHint string

func (h flagHint) Error() string { return string(h) }

// nonZeroInt is a flag with a number that 0 cannot be: in the configuration 0 stands for the
// default.
type nonZeroInt struct {
	value *int
	hint  string
}

// Set implements [pflag.Value].
func (n *nonZeroInt) Set(text string) error {
	i, err := strconv.Atoi(text)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return flagHint("not a whole number: " + n.hint)
	case err != nil || i == 0: // out of range
		return flagHint(n.hint)
	}
	*n.value = i
	return nil
}

func (n *nonZeroInt) String() string {
	if n.value == nil { // pflag asks a zero value
		return "0"
	}
	return strconv.Itoa(*n.value)
}

// Type implements [pflag.Value].
func (n *nonZeroInt) Type() string { return "int" }

// onceString is a flag that must not be repeated: only one of the values would have an effect.
type onceString struct {
	value *string
	given bool
}

// Set implements [pflag.Value].
func (o *onceString) Set(text string) error {
	if o.given {
		return flagHint("the flag is given twice: leave one out")
	}
	*o.value, o.given = text, true
	return nil
}

func (o *onceString) String() string {
	if o.value == nil { // pflag asks a zero value
		return ""
	}
	return *o.value
}

// Type implements [pflag.Value].
func (o *onceString) Type() string { return "string" }

// oneLineList is a flag with a list. pflag reads only the first line of it as CSV, and drops the others.
type oneLineList struct{ listValue }

type listValue interface {
	pflag.Value
	pflag.SliceValue
}

// Set implements [pflag.Value].
func (l oneLineList) Set(text string) error {
	if strings.ContainsAny(text, "\r\n") {
		return flagHint("it has several lines: separate values with commas, or repeat the flag")
	}
	return l.listValue.Set(text)
}

// rejectLines makes the lists among the flags of a command, and of those below it, reject several lines.
func rejectLines(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		list, ok := f.Value.(listValue)
		if !ok || f.Value.Type() != "stringSlice" {
			return
		}
		f.Value = oneLineList{list}
		if f.DefValue == "[]" {
			f.DefValue = "" // which pflag does not show as a default of a type that it does not know
		}
	})
	for _, c := range cmd.Commands() {
		rejectLines(c)
	}
}

// rejectEmptyFlags fails for a flag that is given without a value: in a script that is
// usually a variable that is not set, and the default would be something else than meant.
func rejectEmptyFlags(cmd *cobra.Command) (err error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		empty := f.Value.Type() == "string" && f.Value.String() == ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			items := list.GetSlice()
			empty = len(items) == 0 || slices.Contains(items, "")
		}
		if f.Changed && empty && err == nil {
			err = usage.Errorf("--%s: empty value: give one, or leave the flag out", f.Name)
		}
	})
	return err
}

func wrapFlagError(cmd *cobra.Command, err error) error {
	if format, ok := errors.AsType[*unknownFormatError](err); ok {
		return usage.Errorf("--%s: %w", outputFlagName, format)
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if hint, ok := errors.AsType[flagHint](err); ok {
			return usage.Errorf("--%s %q: %w", invalid.GetFlag().Name, invalid.GetValue(), hint)
		}
		if what, ok := flagValues[invalid.GetFlag().Value.Type()]; ok { // pflag shows the error of a Go function
			if what = "not " + what; errors.Is(err, strconv.ErrRange) {
				what = "out of range"
			}
			return usage.Errorf(`--%s %q: %s: see "%s --help"`, invalid.GetFlag().Name, invalid.GetValue(), what, cmd.CommandPath())
		}
	}
	return usage.Errorf(`%w: see "%s --help"`, err, cmd.CommandPath())
}

// flagValues says what the values of flags are, by their type.
var flagValues = map[string]string{
	"bool": "true or false", "duration": "a duration such as 30s or 2m", "float32": "a number", "float64": "a number",
	"int": "a whole number", "int32": "a whole number", "int64": "a whole number", "uint16": "a whole number",
}

// asFlagError wraps the error of a flag before the verb: cobra does so for the others only.
func asFlagError(root *cobra.Command, err error) error {
	if _, ok := errors.AsType[usage.Error](err); ok {
		return err
	}
	_, unknown := errors.AsType[*pflag.NotExistError](err)
	_, incomplete := errors.AsType[*pflag.ValueRequiredError](err)
	_, invalid := errors.AsType[*pflag.InvalidValueError](err)
	_, malformed := errors.AsType[*pflag.InvalidSyntaxError](err)
	if unknown || incomplete || invalid || malformed {
		return wrapFlagError(root, err)
	}
	return err
}
