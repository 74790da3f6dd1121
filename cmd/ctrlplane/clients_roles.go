package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/roles"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/internal/yamltext"
	"github.com/ctrlplane/ctrlplane/observe"
)

func newRolesCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "roles NAME",
		Short: "Print the RBAC roles that allow what a client has asked for",
		Long: `Print, as YAML, the smallest RBAC roles that allow all requests of a client since the
control plane was started, those included that were refused, which a comment names. If
its user is a ServiceAccount, the bindings are there, too. What may be watched may be
listed: an informer that has listed by its watch cannot do so on every API server.

Everything that the client can do should have happened before. Only requests for
resources count, and not those that it made as another user.`,
		Example: `  ctrlplane clients roles shop-operator
  ctrlplane clients roles shop-operator > config/rbac/role.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage.Errorf("clients roles takes the name of one client, got %d: %q lists them", len(args), "ctrlplane clients")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := t.controlClient()
			if err != nil {
				return err
			}
			list, err := client.Permissions(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			siblings, err := findSiblings(cmd.Context(), client, []string{list.Client}, func(observe.Client) bool { return true })
			if err != nil {
				return err
			}
			return printRoles(cmd.OutOrStdout(), list, siblings)
		},
	}
}

// printRoles prints the roles of a client. siblings are other clients of its process.
func printRoles(out io.Writer, list control.PermissionList, siblings []string) error {
	fmt.Fprintf(out, "# What %s has asked for: %s.\n", words.OneLine(list.Client), words.Count(len(list.Items), "permission"))
	if len(siblings) > 0 {
		fmt.Fprintf(out, "# Over the same connection, most likely of the same process, with permissions of their own: %s.\n", words.OneLine(words.And(siblings)))
	}
	for _, use := range list.Items {
		if use.Refused > 0 {
			fmt.Fprintf(out, "# Refused in %d of %s: %s\n", use.Refused, words.Count(use.Requests, "request"), describePermission(use.Permission))
		}
	}
	if list.LeftOut > 0 {
		fmt.Fprintf(out, "# Other permissions, which %s needed, are not here: there are too many.\n", words.Count(list.LeftOut, "request"))
	}
	for i, object := range roles.For(list) {
		data, err := yamltext.Marshal(object)
		if err != nil {
			return err
		}
		if i > 0 {
			data = append([]byte("---\n"), data...)
		}
		if _, err := out.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// describePermission describes a permission, such as "list deployments.apps in namespace web".
func describePermission(p control.Permission) string {
	resource, subresource, _ := strings.Cut(p.Resource, "/")
	if p.Group != "" {
		resource += "." + p.Group
	}
	if subresource != "" {
		resource += "/" + subresource
	}
	text := p.Verb + " " + resource
	if p.Namespace != "" {
		text += " in namespace " + p.Namespace
	}
	return words.OneLine(text)
}
