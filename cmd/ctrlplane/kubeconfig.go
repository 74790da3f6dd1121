package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func newKubeconfigCommand(t *target) *cobra.Command {
	var raw bool
	var account serviceAccountFlag
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the kubeconfig, or its content",
		Long: `Print the path of the administrator's kubeconfig, or its content. Exported as KUBECONFIG
it selects the control plane for kubectl and for the verbs of ctrlplane, except those that
start and manage control planes by their name, such as "up" and "down".

With --service-account it is a kubeconfig with a token of that ServiceAccount that is
valid for a year, and with its namespace: what runs with it has the permissions that
the ServiceAccount's roles give it, as in a cluster.`,
		Example: `  export KUBECONFIG="$(ctrlplane kubeconfig)"
  export KUBECONFIG="$(ctrlplane --name demo kubeconfig)"
  ctrlplane kubeconfig --raw > admin.kubeconfig
  KUBECONFIG="$(ctrlplane kubeconfig --service-account shop/operator)" go run .`,
		Args: rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := t.running()
			if err != nil {
				return err
			}
			if err := t.checkCurrentContext(c); err != nil {
				return err
			}
			return printKubeconfig(cmd, t, c.path, account, raw)
		},
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "print the content, including the private key or the token")
	cmd.Flags().Var(&account, "service-account", "that "+serviceAccountHelp)
	return cmd
}

func printKubeconfig(cmd *cobra.Command, t *target, dir string, account serviceAccountFlag, raw bool) error {
	if account.given() {
		cfg, err := t.restConfig()
		if err != nil {
			return err
		}
		if err := account.writeKubeconfig(cmd.Context(), dir, cfg); err != nil {
			return err
		}
	}
	path := account.kubeconfigPath(dir)
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	if raw {
		_, err = cmd.OutOrStdout().Write(data)
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
	return err
}
