package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
