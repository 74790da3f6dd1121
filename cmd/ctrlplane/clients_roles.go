package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/control"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/internal/roles"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/internal/yamltext"
	"github.com/ctrlplane/ctrlplane/observe"
)

func newRolesCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "roles NAME…",
		Short: "Print the RBAC roles that allow what clients have asked for",
		Long: `Print, as YAML, the smallest RBAC roles that allow all requests of a client since the
control plane was started, those included that were refused, which a comment names. If
its user is a ServiceAccount, the bindings are there, too. What may be watched may be
listed: an informer that has listed by its watch cannot do so on every API server.
If it writes roles or bindings, it may also escalate and bind, as the API server may
refuse otherwise to grant what the client may not do itself; a comment says so. With
that it can give itself any permission.

The roles also allow what the other clients of its process have asked for, such as the one
for leader election of an operator with a user agent of its own: those of the same user
over the same connection, which a comment names. It also names other clients of the same
ServiceAccount. To include them name them all: the roles have the name of the ServiceAccount,
so those of one client would replace those of another.

Everything that the client can do should have happened before. Only requests for
resources count, and not those that it made as another user.`,
		Example: `  ctrlplane clients roles shop-operator
  ctrlplane clients roles shop-operator shop-webhook > config/rbac/role.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage.Errorf("clients roles takes the names of clients: %q lists them", "ctrlplane clients")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := t.controlClient()
			if err != nil {
				return err
			}
			of, err := findRoles(cmd.Context(), client, args)
			if err != nil {
				return err
			}
			return of.print(cmd.OutOrStdout(), t)
		},
	}
}

// clientRoles are the permissions of clients of a user, for roles.
type clientRoles struct {
	permissions control.PermissionList
	named       []string // clients
	siblings    []string // other clients of their process
	leftOut     []string // other clients of the same ServiceAccount
}

// findRoles returns the permissions of the clients with these names, and of the others in their process.
func findRoles(ctx context.Context, client *controlrest.Client, names []string) (of clientRoles, err error) {
	var lists []control.PermissionList
	for _, name := range names {
		list, err := client.Permissions(ctx, name)
		if err != nil {
			return of, err
		}
		if slices.Contains(of.named, list.Client) {
			continue
		}
		if lists = append(lists, list); list.User != lists[0].User {
			return of, usage.Errorf("clients roles takes clients of one user: %s and %s have two: ask for each", lists[0].Client, list.Client)
		}
		of.named = append(of.named, list.Client)
	}
	all, err := client.Clients(ctx)
	if err != nil {
		return of, err
	}
	of.siblings = namesOf(all, func(c observe.Client) bool { return isSibling(c, of.named) })
	for _, name := range of.siblings {
		list, err := client.Permissions(ctx, name)
		if err != nil {
			return of, err
		}
		lists = append(lists, list)
	}
	if roles.IsServiceAccount(lists[0].User) {
		if of.leftOut, err = findLeftOut(ctx, client, all, lists); err != nil {
			return of, err
		}
	}
	of.permissions = roles.Merge(lists)
	return of, nil
}

// findLeftOut returns the other clients of the user of some permissions that have a role, too, other than users' programs: a role
// with what a person has tried is not that of an operator.
func findLeftOut(ctx context.Context, client *controlrest.Client, all []observe.Client, lists []control.PermissionList) ([]string, error) {
	names := namesOf(all, func(c observe.Client) bool {
		isIncluded := slices.ContainsFunc(lists, func(l control.PermissionList) bool { return l.Client == c.Name })
		return c.User == lists[0].User && !isIncluded && !isUsers(observe.ProgramOf(c.Name))
	})
	var leftOut []string
	for _, name := range names {
		list, err := client.Permissions(ctx, name)
		if err != nil {
			return nil, err
		}
		if len(list.Items) > 0 {
			leftOut = append(leftOut, name)
		}
	}
	return leftOut, nil
}

// isUsers reports whether a program is one with which users and tests make requests.
func isUsers(program string) bool { return program == "kubectl" || strings.HasSuffix(program, ".test") }

// print prints the roles.
func (of clientRoles) print(out io.Writer, t *target) error {
	list := of.permissions
	have := "has"
	if len(of.named) > 1 {
		have = "have"
	}
	fmt.Fprintf(out, "# What %s %s asked for: %s.\n", words.OneLine(words.And(of.named)), have, words.Count(len(list.Items), "permission"))
	if len(of.siblings) > 0 {
		fmt.Fprintf(out, "# Included are other clients over the same connection, most likely of the same process: %s.\n", words.OneLine(words.And(of.siblings)))
	}
	if len(of.leftOut) > 0 {
		line := []string{"clients", "roles"}
		for _, name := range slices.Concat(of.named, of.leftOut) {
			line = append(line, quoteWord(words.OneLine(name)))
		}
		fmt.Fprintf(out, "# Not included are other clients of this ServiceAccount, whose roles have the same names. For all of them: %s\n", t.commandLine(strings.Join(line, " ")))
	}
	for _, use := range list.Items {
		if use.Refused > 0 {
			fmt.Fprintf(out, "# Refused in %d of %s: %s\n", use.Refused, words.Count(use.Requests, "request"), describePermission(use.Permission))
		}
	}
	if list.LeftOut > 0 {
		fmt.Fprintf(out, "# Other permissions, which %s needed, are not here: there are too many.\n", words.Count(list.LeftOut, "request"))
	}
	if grants := roles.Grants(list); len(grants) > 0 {
		fmt.Fprintf(out, "# Added, as it writes roles or bindings, and may grant what these roles do not have: %s.\n", words.And(describeAll(grants)))
		fmt.Fprintln(out, "# With that it can give itself any permission. To be stricter, replace it with the rules that its roles grant.")
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

func describeAll(list []control.Permission) []string {
	described := make([]string, len(list))
	for i, p := range list {
		described[i] = describePermission(p)
	}
	return described
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
