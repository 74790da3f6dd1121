package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubectl "k8s.io/kubectl/pkg/cmd"
)

// readingVerbs are the verbs of kubectl that ask a server and change nothing.
var readingVerbs = []string{
	"api-resources", "api-versions", "apply view-last-applied", "auth can-i", "auth whoami", "cluster-info", "cluster-info dump",
	"config current-context", "config get-clusters", "config get-contexts", "config get-users", "config view",
	"describe", "diff", "events", "explain", "get", "logs", "port-forward", "rollout history", "rollout status",
	"top", "top node", "top pod", "version", "wait",
}

// onlyReads reports whether kubectl changes nothing with these arguments, as far as is known:
// a plugin may change anything.
func onlyReads(args []string) bool {
	if len(args) > 0 && strings.HasPrefix(args[0], "__complete") {
		return true
	}
	verbs := kubectl.NewKubectlCommand(kubectl.KubectlOptions{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard},
	})
	verbs.SetOut(io.Discard) // kubectl itself will warn of deprecated flags
	verb, rest, err := verbs.Find(args)
	if err != nil {
		return false
	}
	return slices.Contains(readingVerbs, strings.TrimPrefix(verb.CommandPath(), "kubectl ")) || asksOnly(verb, rest)
}

// asksOnly reports whether a verb that usually changes something is asked to show what it would
// change, or what there is.
func asksOnly(verb *cobra.Command, args []string) bool {
	if err := verb.ParseFlags(args); err != nil {
		return false
	}
	value := func(name string) string {
		if flag := verb.Flags().Lookup(name); flag != nil {
			return flag.Value.String()
		}
		return ""
	}
	if value("edit") == "true" || value("raw") != "" { // kubectl ignores --dry-run with them
		return false
	}
	dryRun := value("dry-run")
	return dryRun == "client" || dryRun == "server" || value("list") == "true"
}
