package main

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubectl "k8s.io/kubectl/pkg/cmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	kubectlcompletion "k8s.io/kubectl/pkg/util/completion"
)

// kubectl completes the arguments of "ctrlplane kubectl" as kubectl does.
func (c completer) kubectl(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	c.prepare()
	flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag()
	_, notAnswering := c.target.useKubeconfig(flags)
	asked := append(append([]string{cobra.ShellCompRequestCmd}, args...), prefix)
	var out bytes.Buffer
	cmd := kubectl.NewKubectlCommand(kubectl.KubectlOptions{
		Arguments:   append([]string{"kubectl"}, asked...),
		ConfigFlags: flags,
		IOStreams:   genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: io.Discard},
	})
	if notAnswering == nil {
		kubectlcompletion.SetFactoryForCompletion(cmdutil.NewFactory(flags))
	}
	cmd.SetArgs(asked)
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	if err := cmd.Execute(); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return parseCompletions(out.String())
}

// parseCompletions reads what a hidden command __complete of cobra has printed: the
// suggestions, and the directive as ":4".
func parseCompletions(text string) ([]string, cobra.ShellCompDirective) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := len(lines) - 1
	number, found := strings.CutPrefix(lines[last], ":")
	directive, err := strconv.Atoi(number)
	if !found || err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return lines[:last], cobra.ShellCompDirective(directive)
}
