package main

import (
	"errors"
	"strconv"
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
