package main

import (
	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// requireCommand rejects the arguments of a verb that lack the command that it runs.
func requireCommand(example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage.Errorf(`missing command: use "%s -- COMMAND [ARG…]"%s`, cmd.CommandPath(), example)
		}
		return nil
	}
}

// addWrapperFlags adds the flags of a control plane to a verb that runs a command with it.
func (u *upCommand) addWrapperFlags(cmd *cobra.Command) {
	u.addFlags(cmd)
	cmd.Flags().SetInterspersed(false) // flags after the command belong to the command
	cmd.Flags().Var(&u.account, "service-account", "give the command a kubeconfig "+serviceAccountHelp)
	cmd.Flags().Lookup("ephemeral").Usage += " (default unless --name or --data-dir is given)"
}

// runWrapped returns the RunE of such a verb: run returns the exit code, and the error that
// explains it.
func (u *upCommand) runWrapped(run func(*cobra.Command, []string) (int, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if !u.target.named() && !cmd.Flags().Changed("ephemeral") {
			u.ephemeral = true
		}
		code, err := run(cmd, args)
		if code != 0 || err != nil {
			return &exitError{err, code}
		}
		return nil
	}
}
