package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// explainOwnFlags adds to kubectl's error about an unknown flag what to do if the flag is one
// of ctrlplane's that select a control plane.
func explainOwnFlags(kubectl *cobra.Command, args []string) {
	placeholders := map[string]string{"name": "NAME", "data-dir": "DIR"}
	explain := kubectl.FlagErrorFunc()
	kubectl.SetFlagErrorFunc(func(verb *cobra.Command, err error) error {
		explained := explain(verb, err)
		unknown, ok := errors.AsType[*pflag.NotExistError](err)
		if !ok || placeholders[unknown.GetSpecifiedName()] == "" {
			return explained
		}
		flag := "--" + unknown.GetSpecifiedName()
		value, rest := cutFlag(slices.Clone(args), flag)
		words := append([]string{flag, cmp.Or(value, placeholders[unknown.GetSpecifiedName()]), "kubectl"}, rest...)
		for i, word := range words {
			words[i] = quoteWord(word)
		}
		return fmt.Errorf("%w\nTo choose a control plane, put %s before kubectl: %s %s", explained, flag, programWord(), strings.Join(words, " "))
	})
}

// cutFlag removes a flag from arguments and returns its value, "" without one.
func cutFlag(args []string, flag string) (value string, rest []string) {
	for i, arg := range args {
		switch {
		case arg == flag:
			rest = slices.Delete(args, i, i+1)
			if i < len(rest) {
				value = rest[i]
				rest = slices.Delete(rest, i, i+1)
			}
			return value, rest
		case strings.HasPrefix(arg, flag+"="):
			return strings.TrimPrefix(arg, flag+"="), slices.Delete(args, i, i+1)
		}
	}
	return "", args
}
